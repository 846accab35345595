import HeadgateThreads

/// A speed below which a transfer is given up: so many bytes a second, on average over each span of a length.
///
///     request.leastSpeed = TransferSpeed(bytesPerSecond: 1000, over: .seconds(30))
public struct TransferSpeed: Hashable, Sendable {
  /// Bytes a second; zero or less is always reached.
  public let bytesPerSecond: Int

  /// The span over which they are averaged.
  public let span: Duration

  /// A speed.
  ///
  /// - Parameters:
  ///   - bytesPerSecond: Bytes a second, on average.
  ///   - span: Over how long: a transfer may stand still for less than that. At least a millisecond; less is taken for
  ///     that.
  public init(bytesPerSecond: Int, over span: Duration) {
    self.bytesPerSecond = bytesPerSecond
    self.span = max(span, .milliseconds(1))
  }

  /// The bytes that each span has at least.
  var bytesInSpan: Double { Double(bytesPerSecond) * (Double(span.wholeNanoseconds) / 1e9) }

  var spanNanoseconds: Int64 { span.wholeNanoseconds }
}
