import HeadgateLibC
import HeadgateThreads

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A folder for the files of one test.
final class DownloadFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private func url(_ name: String) -> URL { URL(fileURLWithPath: path + "/" + name) }

  var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }

  func names(below name: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path + "/" + name).sorted()) ?? []
  }

  func bytes(_ name: String) -> [UInt8]? { FileManager.default.contents(atPath: path + "/" + name).map { Array($0) } }

  func write(_ bytes: [UInt8], to name: String) throws { try Data(bytes).write(to: url(name)) }

  func edit(_ name: String, _ change: (String) -> String) throws {
    try write(Array(change(String(decoding: bytes(name) ?? [], as: UTF8.self)).utf8), to: name)
  }

  func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: path + "/" + name, withIntermediateDirectories: false)
  }

  func remove(_ name: String) throws { try FileManager.default.removeItem(at: url(name)) }

  /// Returns once a file has this many bytes at least. It is written on a file thread, which tells nobody.
  func waitFor(_ name: String, bytes count: Int) async {
    while bytes(name)?.count ?? 0 < count { await Task.yield() }
  }

  /// Returns once a file has this many bytes and nobody has locked it.
  func waitForUnlocked(_ name: String, bytes count: Int) async {
    await waitFor(name, bytes: count)
    while true {
      let file = open(path + "/" + name, O_RDONLY)
      defer { if file >= 0 { close(file) } }
      if file >= 0, flock(file, LOCK_EX | LOCK_NB) == 0 { return }
      await Task.yield()
    }
  }
}
