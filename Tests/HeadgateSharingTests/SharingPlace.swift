import Foundation
import HeadgateSharing

/// A folder through which programs share permits, removed at the end.
final class SharingPlace: Sendable {
  let folder: PermitFolder

  init() {
    let name = String(UInt64.random(in: 0 ... .max), radix: 36)
    folder = PermitFolder(path: FileManager.default.temporaryDirectory.path + "/hg-" + name)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder.path) }
}
