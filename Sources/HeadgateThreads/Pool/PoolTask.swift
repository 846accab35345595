import Synchronization

// Unchecked: as PoolJob, which has all that it consists of.
/// A task that a pool was given: its result, once it has one, and the means to wait for it or to take it back.
///
/// Any number of threads and tasks may wait, before and after the end. Dropping the handle changes nothing: the task runs.
public final class PoolTask<Success: Sendable, Failure: Error>: PoolJob, @unchecked Sendable {
  // Unchecked: as PoolJob, which has all that it consists of.

  @inlinable
  init(_ core: PoolCore, body: sending @escaping () throws(Failure) -> Success) {
    super.init(core) { job in
      do throws(Failure) {
        let value = try body()
        if Success.self != Void.self { job.result = Result<Success, Failure>.success(value) }
        return false
      } catch {
        job.result = Result<Success, Failure>.failure(error)
        return true
      }
    }
  }

  /// What the body threw; nil if it returned, never ran, or has not come to its end.
  public var error: Failure? {
    guard hasEnded, case .failure(let error) = result as? Result<Success, Failure> else { return nil }
    return error
  }

  /// Blocks the calling thread until the task has ended, and returns its result.
  ///
  /// A thread of the same pool helps instead of blocking: if the task has not started, it runs here and now, whatever its
  /// priority, and then the deadline has no effect. So tasks may wait for tasks, however few threads there are. A wait
  /// that could never end (a task for itself, two for each other, also through other pools) is refused. What remains to
  /// the caller: waits for something else that only a queued task would bring about.
  ///
  /// - Parameter deadline: When to give up; one that has passed only looks.
  /// - Throws: What the body threw, why the task never ran, or why the wait ended: see ``PoolTaskErrorCode``.
  @available(*, noasync, message: "blocks the thread; await value")
  @discardableResult @inlinable
  public func wait(until deadline: Deadline = .distantFuture) throws(PoolTaskError<Failure>) -> Success {
    if !hasEnded, let end = waitForEnd(deadline) {
      throw PoolTaskError(end.code, failure: nil, pool: poolName, waited: end.waited)
    }
    return try outcome()
  }

  /// The task's result, once it has one; suspends until then.
  ///
  /// Cancelling the Swift task that waits ends the wait, not the pool's task.
  ///
  /// - Throws: What the body threw, why the task never ran, or that the wait was cancelled: see ``PoolTaskErrorCode``.
  public var value: Success {
    get async throws(PoolTaskError<Failure>) {
      if !hasEnded {
        let outcome = await suspendUntilEnd()
        if outcome != .woken { throw PoolTaskError(.waitCancelled, pool: core.name) }
      }
      return try outcome()
    }
  }

  // Compiled for the caller's types, as the body is: the casts would look them up at every call.
  @inlinable
  func outcome() throws(PoolTaskError<Failure>) -> Success {
    switch result as? Result<Success, Failure> {
    case .success(let value): return value
    case .failure(let error):
      throw PoolTaskError(.failed, failure: error, pool: poolName, waited: .zero)
    case nil:
      let reason = dropReason
      if reason == nil, let nothing = () as? Success { return nothing }
      throw PoolTaskError(reason ?? .cancelled, failure: nil, pool: poolName, waited: .zero)
    }
  }
}
