import HeadgateDispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Which failures of files are those of the disk, so that every further file would meet them too.
enum DiskFault {
  /// The disk or a quota is full, or the disk can be written no more.
  static let lasting: [Int32] = [ENOSPC, EDQUOT, EROFS, EIO]

  /// Whether a URL failed by one of them. The library tells of the system's word at the end of its detail only.
  static func isLasting(_ error: DispatchError) -> Bool {
    error.code == .fileFailed
      && lasting.contains { error.detail.hasSuffix(": \(SystemError(errno: $0))") }
  }
}
