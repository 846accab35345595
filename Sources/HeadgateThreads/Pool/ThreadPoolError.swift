/// Why a pool could not be made, or did not take a task.
public struct ThreadPoolError: HeadgateError {
  /// The reason. New ones may come: handle those that you know, and treat the others as a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name, as it stands in logs.
    public let description: String
    fileprivate let explanation: String
    fileprivate let advice: String

    private init(_ name: String, _ explanation: String, _ advice: String) {
      description = name
      self.explanation = explanation
      self.advice = advice
    }

    /// The name is empty.
    public static let emptyName = Code("empty_name", "it has no name", "name it after what it does")
    /// A number is out of its range: the size, the queue's bound, the stack's size or the idle time.
    public static let badArgument = Code(
      "bad_argument", "a number is out of its range", "give a size of 1 or more, and nothing negative")
    /// The pool was disposed of.
    public static let disposed = Code("disposed", "it was disposed of", "stop using it, or make a new one")
    /// The queue is full, and the policy is ``FullQueuePolicy/throw``.
    public static let full = Code("full", "its queue is full", "submit later, or choose another policy")
    /// The queue was full until the deadline.
    public static let timedOut = Code(
      "timed_out", "its queue was full until the deadline", "wait longer, or submit less")
    /// The submitting thread was cancelled while it waited for room.
    public static let cancelled = Code("cancelled", "the thread that waited for room was cancelled", "end what you do")
    /// The queue is full, and the calling thread must not wait for room: a task of Swift's runs on it.
    public static let onCooperativeThread = Code(
      "on_cooperative_thread", "its queue is full, and blocking a cooperative thread may stop all tasks",
      "submit from a thread, or choose another policy")
    /// The system has no thread to give, and the pool has none: see ``ThreadPoolError/underlying``.
    public static let noThread = Code(
      "no_thread", "the system has no thread to give", "raise the limit on processes (ulimit -u), or try again")
  }

  /// The reason.
  public let code: Code

  /// The pool's name.
  public let pool: String

  /// What the system said.
  public let underlying: (any Error)?

  init(_ code: Code, pool: String, underlying: (any Error)? = nil) {
    self.code = code
    self.pool = pool
    self.underlying = underlying
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// The same as ``underlying``.
  public var underlyingError: (any Error)? { underlying }

  /// For people: what happened, and what to do.
  public var description: String {
    let cause = underlying.map { " (\($0))" } ?? ""
    return "the pool \"\(pool)\": \(code.explanation)\(cause); \(code.advice)"
  }
}
