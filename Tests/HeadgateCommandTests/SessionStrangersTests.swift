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

  @Test(arguments: [false, true], [[], ["--overwrite"]])
  func `A session does not touch the partial files of others`(isNew: Bool, options: [String]) async throws {
    if !isNew {
      for name in ["run", "other"] {
        _ = try await FetchTrial([origin.url("/bytes/9"), "-P", "@/before", "--session", "@/" + name], in: folder)
          .finish()
      }
    }
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

  @Test func `A partial file that has been replaced is not continued, and stays`() async throws {
    let whole = pattern(900_000)
    let ranges = LockedBox<[String?]>([])
    origin.setScript(
      OriginScript(handler: { request in
        let number = ranges.withLock { ranges in
          ranges.append(request.header("Range"))
          return ranges.count
        }
        var answer = number == 1 ? OriginAnswer.truncated(declared: 900_000, sent: 700_000) : .bytes(whole)
        answer.headers.append(OriginHeader("ETag", "\"1\""))
        return answer
      }))
    #expect(try await run("/x").status == 4)
    // The new file may get the inode number of the old one.
    try FileManager.default.removeItem(atPath: folder.file("out/x.part"))
    try Data(whole.prefix(700_000).reversed()).write(to: URL(fileURLWithPath: folder.file("out/x.part")))
    #expect(try await run("/x").status == 0)
    #expect(ranges.withLock { $0 } == [nil, nil])
    #expect(folder.names(in: "out") == ["bytes", "x.1", "x.part"])
    #expect(folder.bytes(of: "out/x.1") == whole)
    #expect(folder.bytes(of: "out/x.part") == whole.prefix(700_000).reversed())
  }

  @Test func `A later run replaces the small partial files of a killed one`() async throws {
    _ = try await run("/bytes/3")
    try folder.write("short", to: "out/4.part")
    let journal = try #require(folder.text(of: "run"))
    let line = SessionEvent.creating(key: "GET " + origin.url("/bytes/4"), name: "4").line
    try folder.write(journal + line, to: "run")
    #expect(try await run("/bytes/4").status == 0)
    #expect(folder.names(in: "out") == ["3", "4", "bytes"])
    #expect(folder.bytes(of: "out/4") == pattern(4))
  }

  @Test func `A part that another download is writing stays even if the journal knows its name`() async throws {
    _ = try await run("/bytes/3")
    let journal = try #require(folder.text(of: "run"))
    try folder.write(journal + SessionEvent.creating(key: "GET " + origin.url("/bytes/4"), name: "4").line, to: "run")
    let theirs = try Descriptor.createPart(folder.file("out/4.part"), replacing: { _ in false }).part
    let fetched = try await run("/bytes/4")
    #expect(
      fetched.status == 3 && fetched.messages.contains("another download is writing \(folder.file("out/4.part"))"))
    #expect(folder.names(in: "out") == ["3", "4.part", "bytes"])
    Descriptor.close(theirs)
    #expect(try await run("/bytes/4").status == 0)
    #expect(folder.names(in: "out") == ["3", "4", "bytes"])
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
  func `A part that appears while its body is fetched stays`(size: Int) async throws {
    let part = "out/\(size).part"
    origin.setScript(
      OriginScript(handler: { [folder] _ in
        try? folder.write("theirs", to: part)
        return .bytes(pattern(size))
      }))
    let fetched = try await run("/\(size)")
    #expect(fetched.status == 3)
    #expect(fetched.messages.contains("\(folder.file(part)) is another program's"), "\(fetched.messages)")
    #expect(folder.text(of: part) == "theirs")
    origin.setScript(OriginScript(handler: { _ in .bytes(pattern(size)) }))
    #expect(try await run("/\(size)").status == 0)
    #expect(folder.text(of: part) == "theirs")
    #expect(folder.bytes(of: "out/\(size).1") == pattern(size))
  }

  @Test func `A part with the inode number of the session's is compared with it`() throws {
    let path = folder.file("out/x.part")
    try folder.write("beginning and more", to: "out/x.part")
    let inode = try #require(Descriptor.found(path)).inode
    func isSame(_ first: String) -> Bool {
      PartIdentity(inode: inode, first: Array(first.utf8)).isBeginning(of: path)
    }
    #expect(isSame("beginning") && isSame("") && isSame("beginning and more"))
    #expect(!isSame("beginnings") && !isSame("beginning and more.") && !isSame("Beginning"))
    #expect(!PartIdentity(inode: inode, first: []).isBeginning(of: path + "2"))
    let large = pattern(300_000)
    try Data(large).write(to: URL(fileURLWithPath: path))
    #expect(PartIdentity(inode: inode, first: large).isBeginning(of: path))
  }

  @Test(arguments: [[], ["--overwrite"]])
  func `A file that was edited since stays, and the body gets another name`(options: [String]) async throws {
    _ = try await run("/bytes/3")
    try folder.write("abcd, edited", to: "out/3")
    let arguments = [origin.url("/bytes/3"), "-P", "@/out", "--session", "@/run"] + options
    let again = try await FetchTrial(arguments, in: folder).finish()
    #expect(again.status == 0)
    if options.isEmpty {
      #expect(
        again.messages.contains("out/3 has changed since it was fetched, and stays; the new body gets the name 3.1"))
      #expect(folder.text(of: "out/3") == "abcd, edited")
      #expect(folder.bytes(of: "out/3.1") == pattern(3))
    } else {
      #expect(folder.bytes(of: "out/3") == pattern(3))
    }
    #expect(try await run("/bytes/3").messages.contains("done before 1"))
    // One that has lost bytes is fetched again.
    try folder.write("a", to: options.isEmpty ? "out/3.1" : "out/3")
    #expect(try await run("/bytes/3").messages.contains("ok 1"))
    #expect(folder.names(in: "out") == (options.isEmpty ? ["3", "3.1", "bytes"] : ["3", "bytes"]))
  }

  @Test func `Two sessions at once in a folder do not write into one part`() async throws {
    let sessions = try ["one", "other"].map { try Session(folder.file($0), folder: folder.file("out")) }
    let parts = sessions.map { NotedPart(SessionNotes("GET http://a/x", named: "x", isOwn: true, in: $0)) }
    let bodies = [pattern(700_000), Array(pattern(400_000).reversed())]
    func finish(_ part: NotedPart, _ body: [UInt8]) async -> Result<String, DispatchError> {
      await withCheckedContinuation { continuation in
        let whole = CompleteBody(rest: [], size: body.count, validator: Validator(), checksum: nil, modified: nil)
        part.finish(whole) { continuation.resume(returning: $0) }
      }
    }
    for (part, body) in zip(parts, bodies) { part.begin(Validator(tag: "\"\(body.count)\"", modified: nil)) }
    try parts[0].append(bodies[0])
    let refusal = #expect(throws: DispatchError.self) { try parts[1].append(bodies[1]) }
    #expect(refusal?.underlyingError as? SystemError == SystemError(errno: EEXIST))
    parts[1].leave([])
    _ = try await finish(parts[0], bodies[0]).get()
    #expect(folder.bytes(of: "out/x") == bodies[0])
    // The name is taken now.
    parts[1].begin(Validator())
    try parts[1].append(bodies[1])
    await #expect(throws: DispatchError.self) { _ = try await finish(parts[1], bodies[1]).get() }
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
