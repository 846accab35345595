/// Why a pool's task has no result, or why the wait for it ended.
public struct PoolTaskError<Failure: Error>: HeadgateError {
  /// The reason.
  public let code: PoolTaskErrorCode

  /// What the task's body threw; nil unless the code is ``PoolTaskErrorCode/failed``.
  public let failure: Failure?

  /// The pool's name.
  public let pool: String

  /// How long the wait had lasted.
  public let waited: Duration

  @usableFromInline
  init(_ code: PoolTaskErrorCode, failure: Failure? = nil, pool: String, waited: Duration = .zero) {
    self.code = code
    self.failure = failure
    self.pool = pool
    self.waited = waited
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// What the body threw.
  public var underlyingError: (any Error)? { failure }

  /// For people: what ended, why, after how long, and what to do.
  public var description: String {
    let reason = failure.map { "\(code.explanation): \($0)" } ?? code.explanation
    return "task of the pool \"\(pool)\": \(reason) after \(waited.inSeconds) s; \(code.advice)"
  }
}

/// The reason of a ``PoolTaskError``. New ones may come: handle those that you know, and treat the others as a failure.
public struct PoolTaskErrorCode: Hashable, Sendable, CustomStringConvertible {
  /// Its name, as it stands in logs.
  public let description: String
  let explanation: String
  let advice: String
  // What stands in the word of a dropped job; zero for reasons that drop nothing.
  let drop: UInt

  private init(_ name: String, _ explanation: String, _ advice: String, drop: UInt = 0) {
    description = name
    self.explanation = explanation
    self.advice = advice
    self.drop = drop
  }

  init?(drop: UInt) {
    switch drop {
    case 1: self = .cancelled
    case 2: self = .discarded
    case 3: self = .disposed
    default: return nil
    }
  }

  /// The task's body threw an error: see ``PoolTaskError/failure``.
  public static let failed = PoolTaskErrorCode("failed", "its body threw an error", "look at the error")
  /// The task was cancelled before it started.
  public static let cancelled = PoolTaskErrorCode(
    "cancelled", "it was cancelled before it started", "submit it again if it is still needed", drop: 1)
  /// The task gave way to a newer one, as ``FullQueuePolicy/discardOldest`` says.
  public static let discarded = PoolTaskErrorCode(
    "discarded", "it gave way to a newer task", "raise the queue's bound, or submit less", drop: 2)
  /// The pool was disposed of before the task started.
  public static let disposed = PoolTaskErrorCode(
    "disposed", "the pool was disposed of before it started", "dispose of the pool with .drain", drop: 3)
  /// The pool could not take the task: the system has no thread to give.
  public static let notAccepted = PoolTaskErrorCode(
    "not_accepted", "the system has no thread to give", "raise the limit on processes (ulimit -u), or try again")
  /// The deadline passed first. The task goes on, and can be waited for again.
  public static let timedOut = PoolTaskErrorCode("timed_out", "the deadline passed", "wait longer, or cancel it")
  /// The waiting thread or task was cancelled. The pool's task goes on, and can be waited for again.
  public static let waitCancelled = PoolTaskErrorCode(
    "wait_cancelled", "the one who waited was cancelled", "end what you do")
  /// The task waits for the one who would wait, itself or through a chain of others.
  public static let wouldDeadlock = PoolTaskErrorCode(
    "would_deadlock", "it waits for the end of the one who would wait", "wait from outside the task")
  /// A task of Swift's runs on the calling thread: blocking it may stop all others.
  public static let onCooperativeThread = PoolTaskErrorCode(
    "on_cooperative_thread", "blocking a cooperative thread may stop all tasks", "use value")

  init(_ error: WaitError) {
    switch error.code {
    case .timedOut: self = .timedOut
    case .wouldDeadlock: self = .wouldDeadlock
    case .onCooperativeThread: self = .onCooperativeThread
    default: self = .waitCancelled
    }
  }
}
