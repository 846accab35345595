import Foundation

/// A temporary folder for a test, which is removed with it.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("headgate-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { path + "/" + name }

  func write(_ text: String, to name: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: file(name))) }

  func bytes(of name: String) -> [UInt8]? { FileManager.default.contents(atPath: file(name)).map { Array($0) } }

  func text(of name: String) -> String? { bytes(of: name).map { String(decoding: $0, as: UTF8.self) } }

  /// The mode of a file; nil if there is none.
  func mode(of name: String) -> mode_t? {
    var info = stat()
    return lstat(file(name), &info) == 0 ? info.st_mode & 0o777 : nil
  }

  /// The modification time of a file, in seconds since 1970; nil if there is none.
  func modified(_ name: String) -> Int? {
    let values = try? FileManager.default.attributesOfItem(atPath: file(name))
    return (values?[.modificationDate] as? Date).map { Int($0.timeIntervalSince1970) }
  }

  /// The names in a subfolder, sorted.
  func names(in folder: String = "") -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: file(folder))) ?? []).sorted()
  }
}
