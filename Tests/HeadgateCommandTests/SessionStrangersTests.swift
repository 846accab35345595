import Foundation
import HeadgateOrigin
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
}
