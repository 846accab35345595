import Foundation
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Other programs' files in the folder of a session.
@Suite struct SessionStrangersTests {
  private let trial: OutputTrial
  private var folder: TemporaryFolder { trial.folder }
  private var origin: Origin { trial.origin }

  init() throws { trial = try OutputTrial() }

  private func run(_ path: String, _ options: String...) async throws -> Fetched {
    let arguments = [origin.url(path), "-P", "@/out", "--session", "@/run"]
    return try await FetchTrial(arguments + options, in: folder).finish()
  }

  @Test(arguments: [[], ["--overwrite"]])
  func `A new session does not touch the partial files of other runs`(options: [String]) async throws {
    for path in ["out/3.part", "out/bytes/4.part"] { try folder.write("theirs", to: path) }
    let arguments = [origin.url("/bytes/3"), "-P", "@/out", "--session", "@/run"]
    #expect(try await FetchTrial(arguments + options, in: folder).finish().status == 0)
    #expect(folder.names(in: "out") == ["3.1", "3.part", "bytes"])
    let below = [origin.url("/bytes/4"), "-P", "@/out", "-o", "{path}/{name}", "--session", "@/other"]
    #expect(try await FetchTrial(below + options, in: folder).finish().status == 0)
    #expect(folder.names(in: "out/bytes") == ["4.1", "4.part"])
    for path in ["out/3.part", "out/bytes/4.part"] { #expect(folder.text(of: path) == "theirs") }
    #expect(try await run("/bytes/3").messages.contains("done before 1"))
  }

  @Test func `A partial file that another session has replaced is not continued`() async throws {
    let whole = [UInt8](repeating: 0x61, count: 900_000)
    let breaks = LockedBox(true)
    let ranges = LockedBox<[String?]>([])
    origin.setScript(
      OriginScript(handler: { request in
        let tag = OriginHeader("ETag", "\"\(request.path.prefix(2))\"")
        var answer = OriginAnswer.bytes(whole)
        if request.path == "/a/x" { ranges.withLock { $0.append(request.header("Range")) } }
        if request.path.hasSuffix("y") {
          answer = .text("y")
        } else if request.path == "/b/x" || breaks.withLock({ $0 }) {
          // These bytes are others than those of the whole body.
          answer = .truncated(declared: 900_000, sent: request.path == "/a/x" ? 700_000 : 600_000)
        } else if let range = request.header("Range"), let offset = Int(range.dropFirst(6).dropLast()) {
          answer = .bytes(Array(whole[offset...]), status: 206)
          answer.headers = [OriginHeader("Content-Range", "bytes \(offset)-899999/900000")]
        }
        answer.headers.append(tag)
        return answer
      }))
    func fetch(_ path: String, _ session: String) async throws -> Int32 {
      let arguments = [origin.url(path), "-P", "@/out", "--session", "@/" + session]
      return try await FetchTrial(arguments, in: folder).finish().status
    }
    #expect(try await fetch("/a/x", "a") == 4)
    #expect(try await fetch("/b/y", "b") == 0)
    #expect(try await fetch("/b/x", "b") == 4)
    breaks.withLock { $0 = false }
    #expect(try await fetch("/a/x", "a") == 0)
    #expect(ranges.withLock { $0 } == [nil, nil])
    #expect(folder.bytes(of: "out/x") == whole)
  }

  @Test func `A later run overwrites the small partial files of a killed one`() async throws {
    _ = try await run("/bytes/3")
    try folder.write("short", to: "out/4.part")
    #expect(try await run("/bytes/4").status == 0)
    #expect(folder.names(in: "out") == ["3", "4", "bytes"])
    #expect(folder.bytes(of: "out/4") == pattern(4))
  }

  @Test func `A file that appears while its body is fetched stays, unless it may be replaced`() async throws {
    origin.setScript(
      OriginScript(handler: { [folder] _ in
        try? folder.write("theirs", to: "out/x")
        return .bytes(Array("mine".utf8))
      }))
    for _ in 0..<2 {
      let fetched = try await run("/x")
      #expect(fetched.status == 3)
      #expect(fetched.messages.contains("out/x exists, but not from this session"))
      #expect(folder.text(of: "out/x") == "theirs")
      #expect(folder.text(of: "out/x.part") == "mine")
    }
    #expect(try await run("/x", "--overwrite").status == 0)
    #expect(folder.names(in: "out") == ["bytes", "x"])
    #expect(folder.text(of: "out/x") == "mine")
    #expect(origin.counts().received == 1)
  }

  @Test(arguments: [[], ["--overwrite"]])
  func `A file that appeared while a body with another checksum was fetched stays, unless it may be replaced`(
    options: [String]
  ) async throws {
    let bodies = LockedBox(["mine", "new"])
    origin.setScript(
      OriginScript(handler: { [folder] _ in
        let body = bodies.withLock { $0.removeFirst() }
        if body == "mine" { try? folder.write("theirs", to: "out/x") }
        return .bytes(Array(body.utf8))
      }))
    #expect(try await run("/x").status == 3)
    var hash = SHA256()
    hash.update(Array("new".utf8))
    try folder.write("\(Checksum(hash))  x\n", to: "sums")
    let fetched = try await FetchTrial(
      [origin.url("/x"), "-P", "@/out", "--session", "@/run", "--checksum-file", "@/sums"] + options, in: folder
    ).finish()
    #expect(fetched.messages.contains("ok 1  failed 0  verified 1  "), "\(fetched.messages)")
    #expect(folder.text(of: "out/x") == (options.isEmpty ? "theirs" : "new"))
    #expect(folder.text(of: options.isEmpty ? "out/x.1" : "out/x") == "new")
  }

  @Test(arguments: [4, 300_000])
  func `A part that another run is writing is left to it`(size: Int) async throws {
    // A new session would give its file another name.
    _ = try await run("/bytes/3")
    try folder.write("theirs", to: "out/\(size).part")
    let path = folder.file("out/\(size).part")
    let theirs = try Descriptor.openPart(path, at: 6, of: Descriptor.found(path)?.inode).part
    let fetched = try await run("/bytes/\(size)")
    #expect(fetched.status == 3)
    #expect(fetched.messages.contains("another run is writing \(folder.file("out/\(size).part"))"))
    #expect(folder.text(of: "out/\(size).part") == "theirs")
    Descriptor.close(theirs)
    #expect(try await run("/bytes/\(size)").status == 0)
    #expect(folder.names(in: "out") == ["3", "\(size)", "bytes"])
    #expect(folder.bytes(of: "out/\(size)") == pattern(size))
  }

  @Test func `Two sessions at once in a folder do not write into one part`() async throws {
    let sessions = try ["one", "other"].map { try Session(folder.file($0), folder: folder.file("out")) }
    let parts = sessions.map { PartWriter("GET http://a/x", named: "x", in: $0, resumes: true) }
    let bodies = [pattern(700_000), Array(pattern(400_000).reversed())]
    for (part, body) in zip(parts, bodies) { part.begin(Validator(tag: "\"\(body.count)\"", modified: nil)) }
    try await parts[0].append(bodies[0])
    await #expect(throws: SystemError(errno: EWOULDBLOCK)) { try await parts[1].append(bodies[1]) }
    await parts[1].leave()
    _ = try await parts[0].finish(nil)
    #expect(folder.bytes(of: "out/x") == bodies[0])
    // The name is taken now.
    parts[1].begin(Validator())
    try await parts[1].append(bodies[1])
    await #expect(throws: DispatchError.self) { _ = try await parts[1].finish(nil) }
    #expect(folder.bytes(of: "out/x") == bodies[0])
    #expect(folder.bytes(of: "out/x.part") == bodies[1])
  }

  @Test func `A part that has disappeared or is another file is not continued`() throws {
    let path = folder.file("out/x.part")
    #expect(throws: SystemError(errno: ENOENT)) { _ = try Descriptor.openPart(path, at: 5, of: 1) }
    #expect(folder.names(in: "out") == ["bytes"])
    try folder.write("theirs", to: "out/x.part")
    let inode = try #require(Descriptor.found(path)).inode
    #expect(throws: SystemError(errno: EWOULDBLOCK)) { _ = try Descriptor.openPart(path, at: 5, of: inode + 1) }
    #expect(folder.text(of: "out/x.part") == "theirs")
  }
}
