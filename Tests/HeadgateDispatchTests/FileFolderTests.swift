import HeadgateLibC
import Testing

@testable import HeadgateDispatch

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Files below a folder, by paths that may come from others.
@Suite final class FileFolderTests {
  private let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path + "/in/deep", withIntermediateDirectories: true)
    for (name, text) in [("in/a", "inner"), ("in/deep/é", "deep"), ("secret", "outer")] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    }
    for (name, target) in [("link", "../secret"), ("folder", "deep"), ("self", "a")] {
      try FileManager.default.createSymbolicLink(atPath: path + "/in/" + name, withDestinationPath: target)
    }
    mkfifo(path + "/in/pipe", 0o600)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private func code(_ name: String, owner: uid_t = geteuid()) throws -> RequestBodyError.Code? {
    let folder = try FileFolder(path + "/in", owner: owner)
    do throws(RequestBodyError) {
      Descriptor.close(try folder.open(name))
      return nil
    } catch {
      #expect(error.path == path + "/in/" + name)
      return error.code
    }
  }

  @Test func `Only regular files of the owner below it are opened, and no link is followed`() throws {
    for name in ["a", "./a", "deep/é", "deep//é", "deep/./é"] { #expect(try code(name) == nil, "\(name)") }
    for name in ["", "/etc/passwd", "../secret", "deep/../../secret", "deep/..", "a/", "deep/.", "a\0b"] {
      #expect(try code(name) == .outside, "\(name)")
    }
    for name in ["link", "self", "folder/é", "a/b", "self/b"] { #expect(try code(name) == .linked, "\(name)") }
    for name in ["deep", "pipe"] { #expect(try code(name) == .notAFile, "\(name)") }
    for name in ["none", "none/a", "deep/none"] { #expect(try code(name) == .unreadable, "\(name)") }
    #expect(try code("a", owner: geteuid() &+ 1) == .foreign)
  }

  @Test func `A folder that is replaced by a link stays the same folder`() throws {
    let folder = try FileFolder(path + "/in/deep")
    #expect(rename(path + "/in/deep", path + "/moved") == 0)
    #expect(symlink("..", path + "/in/deep") == 0)
    let file = try folder.open("é")
    defer { Descriptor.close(file) }
    #expect(try Descriptor.readAll(file, atMost: 100) == Array("deep".utf8))
    #expect(throws: RequestBodyError.self) { try folder.open("secret") }
  }

  @Test func `No descriptor stays open, whatever happens`() throws {
    let folder = try FileFolder(path + "/in")
    let first = open("/dev/null", O_RDONLY)
    close(first)
    for name in ["deep/none", "folder/é", "deep/é/x", "pipe", "../a"] { _ = try? folder.open(name) }
    let next = open("/dev/null", O_RDONLY)
    defer { close(next) }
    // Other tests may close theirs meanwhile, but these would leave more than those free.
    #expect(next <= first + 3)
  }
}
