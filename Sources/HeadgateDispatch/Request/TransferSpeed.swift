import HeadgateThreads

/// A minimum speed: an average in bytes per second over an interval. A slower transfer fails.
///
///     request.leastSpeed = TransferSpeed(bytesPerSecond: 1000, over: .seconds(30))
public struct TransferSpeed: Hashable, Sendable {
  /// Bytes per second. Zero or less is always reached.
  public let bytesPerSecond: Int

  /// The interval of the average.
  public let span: Duration

  /// Creates a minimum speed.
  ///
  /// - Parameters:
  ///   - bytesPerSecond: The average in bytes per second.
  ///   - span: The interval of the average: a transfer may stall for less than that. At least one millisecond; smaller
  ///     values count as one millisecond.
  public init(bytesPerSecond: Int, over span: Duration) {
    self.bytesPerSecond = bytesPerSecond
    self.span = max(span, .milliseconds(1))
  }

  /// The minimum number of bytes per interval.
  var bytesInSpan: Double { Double(bytesPerSecond) * (Double(span.wholeNanoseconds) / 1e9) }

  var spanNanoseconds: Int64 { span.wholeNanoseconds }
}
