/// Why a timer could not be set, or a due call could not be made.
public struct TimerError: HeadgateError, Hashable {
  /// The reason. Later versions may add codes: handle those that you know, and treat all others as a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name, as it appears in logs.
    public let description: String
    fileprivate let explanation: String

    /// The timer thread was disposed of.
    public static let disposed = Code(
      description: "disposed", explanation: "it was disposed of; create a new one, or use TimerThread.shared")
    /// The number of pending calls has reached the timer thread's limit.
    public static let full = Code(
      description: "full", explanation: "its limit of pending calls is reached; try later, or raise the limit")
    /// The interval of a repetition is zero or negative.
    public static let invalidInterval = Code(
      description: "invalid_interval", explanation: "an interval must be longer than zero")
    /// The delivery target dropped the call without making it, as a disposed pool does. Only reported, never thrown.
    public static let dropped = Code(
      description: "dropped",
      explanation: "the place of delivery dropped a call; check whether that place was disposed of or is full")
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

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// A readable text: what failed, why, and what to do.
  public var description: String { "timers \"\(timers)\": \(code.explanation)" }
}
