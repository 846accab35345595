/// The handle of a task in a pool: to wait for its result and to cancel it.
///
/// A task ends exactly once: its body returns or throws, or it is cancelled, discarded or disposed of before it starts.
/// Any number of threads and tasks may wait for it, before and after its end. Releasing the handle has no effect on the
/// task.
public struct PoolTask<Success: Sendable, Failure: Error>: Sendable {
  @usableFromInline let job: ResultJob<Success, Failure>

  @inlinable init(_ job: ResultJob<Success, Failure>) { self.job = job }

  /// The task's state at this moment.
  public var state: PoolTaskState { job.state }

  /// Whether the task has ended, whether it ran or not.
  public var hasEnded: Bool { job.hasEnded }

  /// Whether the task was cancelled, before it started or while it ran.
  public var isCancelled: Bool { job.isCancelled }

  /// The error that the body threw; nil if it returned, never ran, or has not ended.
  public var error: Failure? {
    guard hasEnded, case .failure(let error) = job.result?.value else { return nil }
    return error
  }

  /// Cancels the task. Returns true if it will not start, and false if it has ended or is running; a running task is
  /// notified.
  ///
  /// A queued task ends at once, frees its place in the queue and releases its captures. A running one continues: its
  /// body sees ``ThreadPool/isCancelled``, and its waits in this library end with the code `cancelled`. Other tasks on
  /// its thread are not affected. Can be called from any thread, any number of times. O(1) on average.
  @discardableResult
  public func cancel() -> Bool { job.cancel() }

  /// Blocks the calling thread until the task has ended, and returns its result.
  ///
  /// A thread of the same pool helps instead of blocking: if the task has not started and the deadline has not passed,
  /// the thread runs the task itself, whatever its priority, and the deadline has no further effect. Tasks can
  /// therefore wait for tasks in a pool of any size. If nested tasks have used up half of the thread's stack, the wait
  /// blocks, and the pool may have one additional thread until it is over. A wait without a deadline that could never
  /// end is refused: a task for itself, or two tasks for each other, even through other pools. One risk remains: a task
  /// that waits in another way for an event that only a queued task can cause.
  ///
  /// - Parameter deadline: When to stop waiting. With a deadline in the past, the call only checks.
  /// - Throws: The error of the body, why the task never ran, or why the wait ended: see ``PoolTaskErrorCode``.
  @available(*, noasync, message: "blocks the thread; await value")
  @discardableResult @inlinable
  public func wait(until deadline: Deadline = .distantFuture) throws(PoolTaskError<Failure>) -> Success {
    do throws(WaitError) {
      if !job.hasEnded { try job.blockUntilEnd(deadline) }
    } catch {
      throw PoolTaskError(PoolTaskErrorCode(error), pool: job.core.name, waited: error.waited, cycle: error.cycle)
    }
    return try job.outcome()
  }

  /// The task's result. Suspends until the task has ended.
  ///
  /// Cancelling the Swift task that waits ends the wait, not the pool's task.
  ///
  /// - Throws: ``PoolTaskError``: the body's error, or why the task never ran; `CancellationError` if the wait was
  ///   cancelled.
  public nonisolated(nonsending) var value: Success {
    get async throws {
      if !job.hasEnded {
        let outcome = await job.suspendUntilEnd()
        if outcome != .woken { throw CancellationError() }
      }
      return try job.outcome()
    }
  }
}

/// The state of a pool's task.
@nonexhaustive
public enum PoolTaskState: Sendable {
  /// The task is in the queue.
  case queued
  /// Its body is running.
  case running
  /// Its body has returned.
  case succeeded
  /// Its body has thrown an error.
  case failed
  /// It was cancelled, discarded or disposed of before it started, and will never run.
  case dropped
}

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
