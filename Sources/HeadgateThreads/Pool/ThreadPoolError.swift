/// Why a pool could not be created, or refused a task.
public struct ThreadPoolError: HeadgateError, CodedError {
  /// The reason. Later versions may add codes: handle those that you know, and treat all others as a failure.
  public struct Code: ErrorCode, Hashable, Sendable, CustomStringConvertible {
    package let reason: Reason
    package init(reason: Reason) { self.reason = reason }

    /// The name is empty.
    public static let emptyName = Code("empty_name", "it has no name", "name it after its purpose")
    /// A number is out of range: the size, the queue's bound, the stack size or the idle time.
    public static let badArgument = Code(
      "bad_argument", "a number is out of range", "use a size of 1 or more, and no negative numbers")
    /// The pool was disposed of.
    public static let disposed = Code("disposed", "it was disposed of", "stop using it, or create a new one")
    /// The queue is full, and the policy is ``FullQueuePolicy/throw``.
    public static let full = Code("full", "its queue is full", "submit later, or choose another policy")
    /// The queue was full until the deadline.
    public static let timedOut = Code(
      "timed_out", "its queue was full until the deadline", "wait longer, or submit fewer tasks")
    /// The submitting thread was cancelled while it waited for room.
    public static let cancelled = Code("cancelled", "the wait for room was cancelled", "stop the current operation")
    /// The queue is full, and the calling thread must neither wait for room nor run the pool's task: see
    /// ``WaitError/Code/onCooperativeThread``.
    public static let onCooperativeThread = Code(
      "on_cooperative_thread", "its queue is full, and \(WaitError.mustNotBlock)",
      "use submit(waitingUntil:), submit from a thread, or choose another policy")
    /// The system has no thread available, and the pool has none: see ``ThreadPoolError/underlyingError``.
    public static let noThread = Code(
      "no_thread", "the system has no thread available", "raise the limit on processes (ulimit -u), or try again")
  }

  /// The reason.
  public let code: Code

  /// The pool's name.
  public let pool: String

  /// The system's error.
  public let underlyingError: (any Error)?

  init(_ code: Code, pool: String, underlyingError: (any Error)? = nil) {
    self.code = code
    self.pool = pool
    self.underlyingError = underlyingError
  }

  /// A readable text: what happened, and what to do.
  public var description: String {
    let cause = underlyingError.map { " (\($0))" } ?? ""
    return "the pool \"\(pool)\": \(code.reason.explanation)\(cause); \(code.reason.advice)"
  }
}
