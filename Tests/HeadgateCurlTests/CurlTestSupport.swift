#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// A folder that is removed with the test.
final class TemporaryFolder {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "headgate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

  func size(of name: String) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: path + "/" + name))?[.size] as? Int
  }

  /// A sparse file of zeros, which takes no room on the disk.
  func sparseFile(of size: Int) throws -> String {
    let path = path + "/sparse"
    guard FileManager.default.createFile(atPath: path, contents: nil), truncate(path, off_t(size)) == 0 else {
      throw CocoaError(.fileWriteUnknown)
    }
    return path
  }
}
