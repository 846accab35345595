import HeadgateThreads

/// A minimum speed: an average in bytes per second over an interval. A slower transfer fails.
///
///     request.minimumSpeed = TransferSpeed(bytesPerSecond: 1000, over: .seconds(30))
public struct TransferSpeed: Hashable, Sendable {
  /// Bytes per second. Zero or less is always reached.
  public let bytesPerSecond: Int

  /// The interval of the average.
  public let interval: Duration

  /// Creates a minimum speed.
  ///
  /// - Parameters:
  ///   - bytesPerSecond: The average in bytes per second.
  ///   - interval: The interval of the average: a transfer may stall for less than that. At least one millisecond;
  ///     smaller values count as one millisecond.
  public init(bytesPerSecond: Int, over interval: Duration) {
    self.bytesPerSecond = bytesPerSecond
    self.interval = max(interval, .milliseconds(1))
  }

  /// The minimum number of bytes per interval.
  var bytesPerInterval: Double { Double(bytesPerSecond) * (Double(interval.wholeNanoseconds) / 1e9) }

  var intervalNanoseconds: Int64 { interval.wholeNanoseconds }
}
