import HeadgateDispatch
import HeadgateLibC

/// Distinguishes failures of one file from those of the disk, which would affect every further file.
enum DiskFault {
  /// The disk or a quota is full, or the disk is no longer writable.
  static let lasting: [Int32] = [ENOSPC, EDQUOT, EROFS, EIO]

  /// Whether a URL failed for one of these reasons.
  static func isLasting(_ error: DispatchError) -> Bool {
    error.code == .fileFailed && (error.underlyingError as? SystemError).map { lasting.contains($0.errno) } ?? false
  }
}
