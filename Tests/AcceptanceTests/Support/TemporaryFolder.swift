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

  /// Writes a file, and creates the folders above it.
  func write(_ bytes: some Collection<UInt8>, to name: String) throws {
    let url = URL(fileURLWithPath: file(name))
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }

  func bytes(of name: String) -> [UInt8]? { FileManager.default.contents(atPath: file(name)).map { Array($0) } }

  func text(of name: String) -> String? { bytes(of: name).map { String(decoding: $0, as: UTF8.self) } }

  /// The names in a subfolder, sorted.
  func names(in folder: String = "") -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: file(folder))) ?? []).sorted()
  }
}
