import Synchronization

/// A task that a pool was given: its result, once it has one, and the means to wait for it or to take it back.
///
/// Any number of threads and tasks may wait, before and after the end. Dropping the handle changes nothing: the task runs.
// Unchecked: `body` and `result` belong to who has claimed the job (see `PoolJob`); once that has ended, `result` is
// constant.
public final class PoolTask<Success: Sendable, Failure: Error>: PoolJob, @unchecked Sendable {
  private var body: (() throws(Failure) -> Success)?
  private var result: Result<Success, Failure>?

  init(_ core: PoolCore, _ body: sending @escaping () throws(Failure) -> Success) {
    self.body = body
    super.init(core)
  }

  override func perform() -> Bool {
    run()
    // What the body captured goes before anybody hears of the end.
    body = nil
    if case .failure = result { return true }
    return false
  }

  @inline(never)
  private func run() {
    guard let body else { return }
    do throws(Failure) {
      result = .success(try withAutoreleasePool { () throws(Failure) -> Success in try body() })
    } catch {
      result = .failure(error)
    }
  }

  override func dropBody() { body = nil }

  /// What the body threw; nil if it returned, never ran, or has not come to its end.
  public var error: Failure? {
    guard hasEnded, case .failure(let error) = result else { return nil }
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
  @discardableResult
  public func wait(until deadline: Deadline = .distantFuture) throws(PoolTaskError<Failure>) -> Success {
    if !hasEnded { try mapped { () throws(WaitError) in try blockUntilEnd(deadline) } }
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

  private func mapped(_ wait: () throws(WaitError) -> Void) throws(PoolTaskError<Failure>) {
    do throws(WaitError) {
      try wait()
    } catch {
      throw PoolTaskError(PoolTaskErrorCode(error), pool: core.name, waited: error.waited)
    }
  }

  private func outcome() throws(PoolTaskError<Failure>) -> Success {
    switch result {
    case .success(let value): return value
    case .failure(let error): throw PoolTaskError(.failed, failure: error, pool: core.name)
    case nil: throw PoolTaskError(dropReason ?? .cancelled, pool: core.name)
    }
  }
}
