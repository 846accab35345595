/// Why a timer could not be set, or a call that was due could not be made.
public struct TimerError: HeadgateError, Hashable {
  /// The kind of failure. New ones may come: handle those that you know.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name, as it stands in logs.
    public let description: String
    fileprivate let explanation: String

    /// The timer thread was disposed of.
    public static let disposed = Code(
      description: "disposed", explanation: "it was disposed of; make a new one, or use TimerThread.shared")
    /// As many calls are pending as the timer thread's limit allows.
    public static let full = Code(
      description: "full", explanation: "its limit of pending calls is reached; try later, or raise the limit")
    /// A repetition's interval is not above zero.
    public static let invalidInterval = Code(
      description: "invalid_interval", explanation: "an interval must be longer than zero")
    /// The target let the call go without making it, as a disposed pool does. Only reported, never thrown.
    public static let dropped = Code(
      description: "dropped", explanation: "the target let a call go without making it; is it disposed of or full?")
  }

  /// The kind of failure.
  public var code: Code

  /// The timer thread's name.
  public var timers: String

  /// An error of this kind.
  public init(_ code: Code, timers: String) {
    self.code = code
    self.timers = timers
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// For people: what failed, why, and what to do.
  public var description: String { "timers \"\(timers)\": \(code.explanation)" }
}
