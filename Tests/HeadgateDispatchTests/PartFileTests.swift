import Foundation
import Testing

@testable import HeadgateDispatch

@Suite struct PartFileTests {
  /// A folder that is removed explicitly: an optimized build releases objects after their last use.
  private final class Folder {
    let path: String

    init() throws {
      path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }

    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }

    func write(_ text: String, to name: String) throws {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    }

    func text(_ name: String) -> String? {
      FileManager.default.contents(atPath: path + "/" + name).map { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// Writes a text and finishes, as the sink of a download does.
  @discardableResult
  private func store(_ text: String, _ destination: FileDestination) throws(DispatchError) -> String {
    let file = try PartFile(for: destination)
    do throws(DispatchError) {
      try file.append(Array(text.utf8))
    } catch {
      file.discard()
      throw error
    }
    return try file.finish()
  }

  @Test("A file appears under its name only when it is complete")
  func part() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let file = try PartFile(for: .numbered(folder.path + "/a"))
    #expect(folder.names == ["a.part"])
    try file.append(Array("one, ".utf8))
    try file.append([])
    try file.append(Array("two".utf8))
    #expect(folder.names == ["a.part"])
    #expect(folder.text("a.part") == "one, two")
    #expect(try file.finish() == folder.path + "/a")
    #expect(folder.names == ["a"])
    #expect(folder.text("a") == "one, two")
  }

  @Test("Until a file has its name, no other program can lock it, as one left behind could be")
  func lock() throws {
    let folder = try Folder()
    defer { folder.remove() }
    func isLocked(_ name: String) -> Bool {
      let other = open(folder.path + "/" + name, O_RDONLY)
      defer { close(other) }
      return flock(other, LOCK_EX | LOCK_NB) != 0
    }
    let file = try PartFile(for: .numbered(folder.path + "/a"))
    #expect(isLocked("a.part"))
    _ = try file.finish()
    #expect(!isLocked("a"))
    let second = try PartFile(for: .numbered(folder.path + "/a"))
    #expect(isLocked("a.part"))
    second.discard()
    #expect(folder.names == ["a"])
  }

  @Test("An empty file is a file")
  func empty() throws {
    let folder = try Folder()
    defer { folder.remove() }
    #expect(try store("", .numbered(folder.path + "/a")) == folder.path + "/a")
    #expect(folder.text("a") == "")
  }

  @Test("A large body is written completely")
  func large() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let block = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let file = try PartFile(for: .replacing(folder.path + "/a"))
    for _ in 0..<5 { try file.append(block) }
    _ = try file.finish()
    let whole = try #require(FileManager.default.contents(atPath: folder.path + "/a"))
    #expect(whole.count == 5 << 20)
    #expect(whole.suffix(1 << 20).elementsEqual(block))
  }

  @Test("Numbered: an existing file stays, the new file gets the next number")
  func numbered() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.write("old", to: "a.txt")
    #expect(try store("new", .numbered(folder.path + "/a.txt")) == folder.path + "/a.txt.1")
    #expect(try store("newer", .numbered(folder.path + "/a.txt")) == folder.path + "/a.txt.2")
    #expect(folder.names == ["a.txt", "a.txt.1", "a.txt.2"])
    #expect(["a.txt", "a.txt.1", "a.txt.2"].map { folder.text($0) } == ["old", "new", "newer"])
    try FileManager.default.removeItem(atPath: folder.path + "/a.txt.1")
    #expect(try store("gap", .numbered(folder.path + "/a.txt")) == folder.path + "/a.txt.1")
  }

  @Test("Numbered: a folder or a dangling link of that name stays too")
  func numberedBesideOthers() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try FileManager.default.createDirectory(atPath: folder.path + "/a", withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(atPath: folder.path + "/a.1", withDestinationPath: folder.path + "/none")
    #expect(try store("new", .numbered(folder.path + "/a")) == folder.path + "/a.2")
    #expect(folder.names == ["a", "a.1", "a.2"])
  }

  @Test("Replacing: the old file stays until the new one is complete")
  func replacing() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.write("old and longer", to: "a")
    let file = try PartFile(for: .replacing(folder.path + "/a"))
    try file.append(Array("new".utf8))
    #expect(folder.text("a") == "old and longer")
    #expect(try file.finish() == folder.path + "/a")
    #expect(folder.names == ["a"])
    #expect(folder.text("a") == "new")
  }

  @Test("A discarded file leaves nothing, and existing files are unchanged", arguments: [false, true])
  func discard(replacing: Bool) throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.write("old", to: "a")
    let path = folder.path + "/a"
    let file = try PartFile(for: replacing ? .replacing(path) : .numbered(path))
    try file.append(Array("new".utf8))
    #expect(folder.names == ["a", "a.part"])
    file.discard()
    #expect(folder.names == ["a"])
    #expect(folder.text("a") == "old")
  }

  @Test("Two at once with one name get a part file and a name each")
  func twoAtOnce() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let first = try PartFile(for: .numbered(folder.path + "/a"))
    let second = try PartFile(for: .numbered(folder.path + "/a"))
    #expect(folder.names == ["a.1.part", "a.part"])
    try first.append(Array("first".utf8))
    try second.append(Array("second".utf8))
    #expect(try second.finish() == folder.path + "/a")
    #expect(try first.finish() == folder.path + "/a.1")
    #expect(folder.names == ["a", "a.1"])
    #expect(folder.text("a") == "second")
    #expect(folder.text("a.1") == "first")
  }

  @Test("Only regular files and links are replaced; the error for others names the path, and no part file is left")
  func noFile() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try #require(mkfifo(folder.path + "/a", 0o600) == 0)
    let error = #expect(throws: DispatchError.self) { try store("x", .replacing(folder.path + "/a")) }
    #expect(error?.code == .fileFailed)
    #expect(folder.names == ["a"])
    try folder.write("mine", to: "b")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/link", withDestinationPath: folder.path + "/b")
    try store("x", .replacing(folder.path + "/link"))
    #expect((folder.text("link"), folder.text("b")) == ("x", "mine"))
    let path = folder.path + "/folder"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    expectFailure(naming: path) { () throws(DispatchError) in try store("x", .replacing(path)) }
    #expect(folder.names == ["a", "b", "folder", "link"])
  }

  @Test("Two at once that replace: the later end wins, completely")
  func twoReplacing() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let first = try PartFile(for: .replacing(folder.path + "/a"))
    let second = try PartFile(for: .replacing(folder.path + "/a"))
    try first.append(Array("first".utf8))
    try second.append(Array("second".utf8))
    #expect(try second.finish() == folder.path + "/a")
    #expect(try first.finish() == folder.path + "/a")
    #expect(folder.names == ["a"])
    #expect(folder.text("a") == "first")
  }

  @Test("An existing part file is not written to, nor is the target of a link of that name")
  func exclusive() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.write("kept", to: "a.part")
    try folder.write("precious", to: "target")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/a.1.part",
      withDestinationPath: folder.path + "/target"
    )
    try store("new", .numbered(folder.path + "/a"))
    #expect(folder.names == ["a", "a.1.part", "a.part", "target"])
    #expect(folder.text("a") == "new")
    #expect(folder.text("a.part") == "kept")
    #expect(folder.text("target") == "precious")
  }

  @Test("Many at once from many threads get a name each and lose nothing")
  func manyAtOnce() async throws {
    let folder = try Folder()
    defer { folder.remove() }
    let path = folder.path + "/a"
    let names = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<60 {
        group.addTask {
          let file = try PartFile(for: .numbered(path))
          try file.append(Array("\(number)".utf8))
          return try file.finish()
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(names) == Set([path] + (1..<60).map { "\(path).\($0)" }))
    #expect(Set(folder.names.compactMap { folder.text($0) }) == Set((0..<60).map { "\($0)" }))
    #expect(folder.names.count == 60)
  }

  private func expectFailure(naming path: String, _ body: () throws(DispatchError) -> Void) {
    do throws(DispatchError) {
      try body()
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.code == .fileFailed)
      #expect(error.phase == .writing)
      #expect(error.detail.contains(path), "\(error.detail)")
    }
  }

  @Test("A folder that is missing, or is a file, gives an error that names the path", arguments: [false, true])
  func missingFolder(replacing: Bool) throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.write("x", to: "file")
    for name in ["missing/a", "file/a", String(repeating: "n", count: 300)] {
      let path = folder.path + "/" + name
      expectFailure(naming: path) { () throws(DispatchError) in
        try store("x", replacing ? .replacing(path) : .numbered(path))
      }
    }
    let missing = #expect(throws: DispatchError.self) {
      try store("x", replacing ? .replacing("\(folder.path)/missing/a") : .numbered("\(folder.path)/missing/a"))
    }
    #expect(missing?.detail == "writing \(folder.path)/missing/a.part: its folder does not exist")
    #expect(folder.names == ["file"])
  }

  @Test(
    "A folder that may not be written to gives an error that names the path",
    .enabled(if: geteuid() != 0, "root may write everywhere")
  )
  func readOnlyFolder() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder.path)
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path) }
    let path = folder.path + "/a"
    expectFailure(naming: path) { () throws(DispatchError) in try store("x", .numbered(path)) }
  }

  @Test(
    "A part file that was removed meanwhile is an error, and another file is not renamed",
    arguments: [false, true]
  )
  func takenAway(replacing: Bool) throws {
    let folder = try Folder()
    defer { folder.remove() }
    let path = folder.path + "/a"
    let file = try PartFile(for: replacing ? .replacing(path) : .numbered(path))
    try FileManager.default.removeItem(atPath: path + ".part")
    do throws(DispatchError) {
      _ = try file.finish()
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.code == .fileFailed)
      #expect(error.detail.contains(path))
    }
    #expect(folder.names.isEmpty)
  }
}
