/// Why a pool's task has no result, or why the wait for it ended.
public struct PoolTaskError<Failure: Error>: HeadgateError, CodedError {
  /// The codes, the same for all failure types.
  public typealias Code = PoolTaskErrorCode

  /// The reason.
  public let code: Code

  /// The error that the task's body threw, with the code ``PoolTaskErrorCode/failed``; or why the pool refused it, with
  /// ``PoolTaskErrorCode/rejected`` from `invokeAny`. Otherwise nil.
  public let failure: Failure?

  /// The pool's name.
  public let pool: String

  /// How long the wait had lasted.
  public let waited: Duration

  /// The cycle of waits that this one would have closed; nil unless the code is ``PoolTaskErrorCode/wouldDeadlock``.
  public let cycle: String?

  @usableFromInline
  init(
    _ code: PoolTaskErrorCode, failure: Failure? = nil, pool: String, waited: Duration = .zero, cycle: String? = nil
  ) {
    self.code = code
    self.failure = failure
    self.pool = pool
    self.waited = waited
    self.cycle = cycle
  }

  /// The same as ``failure``.
  public var underlyingError: (any Error)? { failure }

  /// A readable text: the pool, the reason, how long the wait lasted, and what to do.
  public var description: String {
    "task of the pool \"\(pool)\": \(code.text(failure, cycle: cycle, after: waited))"
  }
}

/// The reason of a ``PoolTaskError``. Later versions may add codes: handle those that you know, and treat all others as
/// a failure.
public struct PoolTaskErrorCode: ErrorCode, Hashable, Sendable, CustomStringConvertible {
  package let reason: Reason
  package init(reason: Reason) { self.reason = reason }

  /// The reasons for which a job is dropped. The word of such a job has the index of its reason.
  static let drops: [PoolTaskErrorCode] = [.cancelled, .discarded, .disposed]

  /// The task's body threw an error: see ``PoolTaskError/failure``.
  public static let failed = PoolTaskErrorCode("failed", "its body threw an error", "see the error")
  /// The task was cancelled before it started.
  public static let cancelled = PoolTaskErrorCode(
    "cancelled", "it was cancelled before it started", "submit it again if it is still needed")
  /// The task was dropped for a newer one by ``FullQueuePolicy/discardOldest``.
  public static let discarded = PoolTaskErrorCode(
    "discarded", "it was dropped for a newer task", "raise the queue's bound, or submit fewer tasks")
  /// The pool was disposed of before the task started.
  public static let disposed = PoolTaskErrorCode(
    "disposed", "the pool was disposed of before it started", "dispose of the pool with .drain")
  /// The pool rejected the task.
  public static let rejected = PoolTaskErrorCode(
    "rejected", "the pool rejected it", "see the error, or try again later")
  /// The deadline passed first. The task continues, and can be waited for again.
  public static let timedOut = PoolTaskErrorCode("timed_out", "the deadline passed", "wait longer, or cancel it")
  /// The waiting thread was cancelled. The pool's task continues, and can be waited for again. A Swift task that is
  /// cancelled while it waits gets `CancellationError`.
  public static let waitCancelled = PoolTaskErrorCode(
    "wait_cancelled", "the wait was cancelled", "stop the current operation")
  /// The task waits for the caller's end, directly or through others, and no wait has a deadline.
  public static let wouldDeadlock = PoolTaskErrorCode(
    "would_deadlock", "it waits for the end of the calling task or thread", "wait outside the task")
  /// The calling thread must not block: see ``WaitError/Code/onCooperativeThread``.
  public static let onCooperativeThread = PoolTaskErrorCode(
    "on_cooperative_thread", WaitError.mustNotBlock, "use value")

  @usableFromInline
  init(_ error: WaitError) {
    switch error.code {
    case .timedOut: self = .timedOut
    case .wouldDeadlock: self = .wouldDeadlock
    case .onCooperativeThread: self = .onCooperativeThread
    default: self = .waitCancelled
    }
  }
}
