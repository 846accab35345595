/// How much of a body has been sent or received.
///
/// Bytes count as sent when the transport has them; it buffers about 64 KB, and the system more. A body that is
/// transferred again counts once: progress is reported when it exceeds the earlier count.
public struct TransferProgress: Hashable, Sendable {
  /// Receives progress.
  public typealias Listener = @Sendable (TransferProgress) -> Void

  /// The bytes transferred. Never decreases.
  public let bytes: Int64

  /// The length of the body in bytes; nil while unknown.
  public let total: Int64?

  /// Creates a progress value.
  ///
  /// - Parameters:
  ///   - bytes: The bytes transferred.
  ///   - total: The length of the body in bytes; nil if unknown.
  public init(bytes: Int64, total: Int64?) {
    self.bytes = bytes
    self.total = total
  }

  /// The fraction transferred, from 0 to 1; nil while the total is unknown. 1 for an empty body.
  public var fraction: Double? {
    total.map { $0 > 0 ? min(1, Double(bytes) / Double($0)) : 1 }
  }
}

/// Counts the bytes of one body over all transfers of it, and decides when to report: after each hundredth, but at
/// least 64 KB, and at the end.
struct ProgressCount {
  /// The minimum number of bytes between two reports.
  static let leastStep: Int64 = 64 * 1024

  private let longestStep: Int64
  private var total: Int64?
  /// The bytes of the current transfer.
  private(set) var bytes: Int64 = 0
  private var told: Int64 = -1
  private var hasToldEnd = false

  // The current transfer has reached the end of a body of unknown length.
  private var isAtEnd = false

  /// Creates a count of zero.
  ///
  /// - Parameter longestStep: The maximum number of bytes between two reports.
  init(longestStep: Int64 = .max) { self.longestStep = longestStep }

  /// Whether the current transfer is complete.
  var isWhole: Bool { isAtEnd || total == bytes }

  /// Starts a transfer, the first or a repeated one.
  ///
  /// - Parameter offset: The bytes of the body that are there already.
  mutating func begin(total: Int64?, from offset: Int64 = 0) {
    self.total = total
    bytes = offset
    isAtEnd = false
  }

  /// Counts bytes. Returns the progress to report, if any.
  mutating func add(_ count: Int64) -> TransferProgress? {
    bytes += count
    let step = min(max(Self.leastStep, (total ?? 0) / 100), longestStep)
    return bytes - max(told, 0) >= step || total == bytes && told < bytes ? tell() : nil
  }

  /// Ends the transfer. Returns the progress to report, if any.
  mutating func end() -> TransferProgress? {
    isAtEnd = true
    guard bytes >= told, !hasToldEnd else { return nil }
    hasToldEnd = true
    // The end may reveal the length, which is worth a report.
    let isNews = told < bytes || total == nil
    total = bytes
    return isNews ? tell() : nil
  }

  private mutating func tell() -> TransferProgress {
    told = bytes
    return TransferProgress(bytes: bytes, total: total)
  }
}
