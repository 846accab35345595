import HeadgateDispatch
import HeadgateLibC

/// Distinguishes failures of one file from those of the disk, which would affect every further file.
enum DiskFault {
  /// The disk or a quota is full, or the disk is no longer writable.
  static let lasting: [Int32] = [ENOSPC, EDQUOT, EROFS, EIO]

  /// Whether a URL failed for one of these reasons. The library's error has the system's text only at the end of its
  /// detail.
  static func isLasting(_ error: DispatchError) -> Bool {
    error.code == .fileFailed
      && lasting.contains { error.detail.hasSuffix(": \(SystemError(errno: $0))") }
  }
}
