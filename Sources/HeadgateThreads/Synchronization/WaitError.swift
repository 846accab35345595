/// Why a wait ended without success.
///
/// One error type covers every wait: taking from a queue, joining a thread, sleeping, waiting for a pool's task. If a
/// task waits and its cancellation ends the wait, `CancellationError` is thrown instead, as everywhere in Swift.
public struct WaitError: HeadgateError, CodedError, Hashable {
  /// The reason. Later versions may add codes: handle those that you know, and treat all others as a failure.
  public struct Code: ErrorCode, Hashable, Sendable, CustomStringConvertible {
    package let reason: Reason
    package init(reason: Reason) { self.reason = reason }

    /// The deadline passed first.
    public static let timedOut = Code("timed_out", "the deadline passed", "wait longer, or check why it takes so long")
    /// The waiting thread was cancelled. A Swift task that is cancelled while it waits gets `CancellationError`.
    public static let cancelled = Code("cancelled", "the wait was cancelled", "stop the current operation")
    /// The object waited on was closed or disposed of.
    public static let closed = Code("closed", "it was closed", "stop using it, or create a new one")
    /// The wait could never have ended, so it was refused.
    public static let wouldDeadlock = Code(
      "would_deadlock", "the wait could never have ended", "wait from another thread, or do not wait")
    /// The calling thread must not block: it runs Swift tasks and is not one of Headgate's, or it serves the whole process,
    /// such as the thread of ``TimerThread/shared`` or of a transport.
    public static let onCooperativeThread = Code(
      "on_cooperative_thread", WaitError.mustNotBlock,
      "use the async form, or call it inside ThreadPool.blocking or on a thread of the program")
  }

  /// The reason.
  public var code: Code

  /// A readable name of the operation that waited: `take from "jobs"`.
  public var operation: String

  /// How long the wait had lasted.
  public var waited: Duration

  /// The cycle of waits that this one would have closed, from the waiting thread back to itself. Nil unless the code is
  /// ``Code/wouldDeadlock``. Example: `thread "a" waits for loop "b", which waits for the end of thread "a"`
  public var cycle: String?

  /// Creates an error with this code.
  public init(_ code: Code, operation: String, waited: Duration = .zero, cycle: String? = nil) {
    self.code = code
    self.operation = operation
    self.waited = waited
    self.cycle = cycle
  }

  /// A readable text: the operation, the reason, how long it waited, and what to do.
  public var description: String {
    "\(operation): \(code.text(cycle: cycle, after: waited))"
  }

  /// The error that a task gets: `CancellationError` for a cancellation, as everywhere in Swift.
  @usableFromInline var inTask: any Error { code == .cancelled ? CancellationError() : self }
}

extension WaitError {
  /// The explanation that all errors with the code `on_cooperative_thread` share.
  static var mustNotBlock: String { "this thread must not block, because other work of the process depends on it" }
}

extension WaitError.Code {
  /// The error code for an outcome; nil for a wake-up.
  init?(_ outcome: Waiter.Outcome) {
    switch outcome {
    case .pending, .woken: return nil
    case .timedOut: self = .timedOut
    case .cancelled: self = .cancelled
    }
  }
}
