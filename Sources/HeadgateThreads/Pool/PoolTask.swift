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
