/// Why a timer could not be set, or a due call could not be made.
public struct TimerError: HeadgateError, CodedError, Hashable {
  /// The reason. Later versions may add codes: handle those that you know, and treat all others as a failure.
  public struct Code: ErrorCode, Hashable, Sendable, CustomStringConvertible {
    package let reason: Reason
    package init(reason: Reason) { self.reason = reason }

    /// The timer thread was disposed of.
    public static let disposed = Code("disposed", "it was disposed of; create a new one, or use TimerThread.shared")
    /// The number of pending calls has reached the timer thread's limit.
    public static let full = Code("full", "its limit of pending calls is reached; try later, or raise the limit")
    /// The interval of a repetition is zero or negative.
    public static let invalidInterval = Code("invalid_interval", "an interval must be longer than zero")
    /// The delivery target dropped the call without making it, as a disposed pool does. Only reported, never thrown.
    public static let dropped = Code(
      "dropped", "the place of delivery dropped a call; check whether that place was disposed of or is full")
  }

  /// The reason.
  public var code: Code

  /// The timer thread's name.
  public var timers: String

  /// Creates an error with this code.
  public init(_ code: Code, timers: String) {
    self.code = code
    self.timers = timers
  }

  /// A readable text: what failed, why, and what to do.
  public var description: String { "timers \"\(timers)\": \(code.reason.explanation)" }
}
