import Foundation
import HeadgateDispatch
import HeadgateThreads
import Testing

@testable import HeadgateCommand

@Suite struct CompletedBodiesTests {
  private let folder: TemporaryFolder
  private let crew = LaneCrew(name: "bodies", size: 4)

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("out"), withIntermediateDirectories: true)
  }

  private func journal(_ flags: Int32) throws -> GroupSync {
    try folder.write("", to: "journal")
    return GroupSync(open(folder.file("journal"), flags), on: crew)
  }

  private func bodies(_ journal: GroupSync) throws -> CompletedBodies {
    let out = folder.file("out")
    return CompletedBodies(in: out, journal, GroupSync(try Descriptor.openFolder(out), on: crew), on: crew)
  }

  private func body(_ name: String) -> CompletedBodies.Body {
    let bytes = Array(name.utf8)
    return CompletedBodies.Body(
      key: "GET " + name, file: SessionFile(name: name, size: bytes.count, validator: Validator()), rest: bytes,
      part: nil)
  }

  private func events() throws -> [SessionEvent] {
    try #require(folder.text(of: "journal")).split(separator: "\n").compactMap { SessionEvent(Array($0.utf8)[...]) }
  }

  @Test func `Each of many concurrent bodies gets its name, and a failed body does not affect the others`() async throws
  {
    // A folder has the name of one part file, and another folder that of one final file.
    for path in ["out/17.part", "out/23"] {
      try FileManager.default.createDirectory(atPath: folder.file(path), withIntermediateDirectories: true)
    }
    let journal = try journal(O_RDWR | O_APPEND)
    let bodies = try bodies(journal)
    let endings = await withTaskGroup(of: (Int, CompletedBodies.Ending).self) { group in
      for index in 0..<200 { group.addTask { (index, await bodies.stored(body("\(index)"))) } }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    for index in 0..<200 {
      switch (index, endings[index]) {
      case (17, .failed(let error)): #expect(error.errno == EEXIST)
      case (23, .unnamed(let error)): #expect(error.errno == EEXIST)
      case (17, _), (23, _): Issue.record("\(index) has its name")
      case (_, .named): #expect(folder.text(of: "out/\(index)") == "\(index)")
      default: Issue.record("\(index) has no name")
      }
    }
    // The complete part waits for the next run.
    #expect(folder.text(of: "out/23.part") == "23")
    try await journal.write("")
    let events = try events()
    let inodes = events.reduce(into: [String: UInt64]()) { inodes, event in
      if case .whole(_, let file, let inode) = event { inodes[file.name] = inode }
    }
    #expect(inodes.count == 199 && inodes["17"] == nil)
    #expect(inodes["5"] == Descriptor.found(folder.file("out/5"))?.inode)
    #expect(events.filter { if case .done = $0 { true } else { false } }.count == 198)
  }

  @Test func `No body gets its name without the journal's line`() async throws {
    let bodies = try bodies(journal(O_RDONLY))
    for name in ["a", "b"] {
      guard case .failed(let error) = await bodies.stored(body(name)) else {
        Issue.record("\(name) has its name")
        continue
      }
      #expect(error.errno == EBADF)
    }
    #expect(folder.names(in: "out") == [])
  }

  @Test func `Lines of many callers are complete and in each caller's order, including those for later`() async throws {
    let journal = try journal(O_RDWR | O_APPEND)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for caller in 0..<8 {
        group.addTask {
          for line in 0..<50 {
            let text = "\(caller) \(line)\n"
            switch line % 3 {
            case 0: journal.addLater(text)
            case 1: journal.add(text)
            default: try await journal.sync(text)
            }
          }
          try await journal.write("")
        }
      }
      try await group.waitForAll()
    }
    let lines = try #require(folder.text(of: "journal")).split(separator: "\n")
    #expect(lines.count == 400)
    for caller in 0..<8 {
      #expect(lines.filter { $0.hasPrefix("\(caller) ") } == (0..<50).map { "\(caller) \($0)" })
    }
  }

  @Test func `After an error nothing is written, and each caller gets the error`() async throws {
    let journal = try journal(O_RDONLY)
    for _ in 0..<2 {
      await #expect(throws: SystemError(errno: EBADF)) { try await journal.sync("x\n") }
    }
    #expect(journal.failure == SystemError(errno: EBADF))
    #expect(folder.text(of: "journal") == "")
  }
}

extension CompletedBodies {
  /// Returns once a body has its final name on disk or can't get it.
  fileprivate func stored(_ body: Body) async -> Ending {
    await withCheckedContinuation { continuation in add(body) { continuation.resume(returning: $0) } }
  }
}
