// A monitor: P. Brinch Hansen, "Operating System Principles" (1973), and C. A. R. Hoare, "Monitors: An Operating System
// Structuring Concept" (1974), with the rule of Mesa: a waiter that is woken checks its condition again.
//
// A waiter joins the list under the lock under which it has found its condition false, so no change falls between the
// two. With a separate mutex and notification, as in `pthread_cond_broadcast` beside a state behind another lock, one
// could.

/// A value behind a lock, and the threads and tasks that wait until it meets a condition: a mutex with its condition
/// variable.
///
///     let door = Condition(Door())
///     …  // any thread or task
///     door.update { $0.isOpen = true }
///     …  // each that waits
///     try await door.wait { $0.isOpen }
///
/// Each update lets all waiters look again, as after `pthread_cond_broadcast`, so each may wait for something else. They
/// look in no particular order, and may miss a state that the next update has replaced. For elements that are handed out
/// in order of arrival, use a ``BlockingQueue``.
///
/// The closures run under the lock. They should decide and return: a closure that uses the same object again traps in a
/// debug build and never returns in a release build. An update is O(n) in the number of waiters, everything else O(1).
public final class Condition<Value: Sendable & ~Copyable>: Sendable {
  private struct State: ~Copyable {
    var value: Value
    var waiters = WaitList()
  }

  /// The name, as it appears in errors.
  public let name: String
  private let state: Locked<State>

  /// Creates an object with its value.
  ///
  /// - Parameters:
  ///   - value: The value at the beginning.
  ///   - name: The name that errors show.
  public init(_ value: consuming sending Value, name: String = "condition") {
    self.name = name
    state = Locked(State(value: value))
  }

  /// The number of waiters, at some moment during the call.
  public var waitingCount: Int { state.withLock { $0.waiters.count } }

  /// Reads the value. No waiter looks again.
  ///
  /// - Parameter body: Called at once, under the lock.
  /// - Returns: What `body` returns.
  public func read<Result: Sendable, Failure: Error>(
    _ body: (borrowing Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try state.withLock { state throws(Failure) in try body(state.value) }
  }

  /// Changes the value, and lets all waiters look again.
  ///
  /// Never waits for a waiter. Everything done before the call is visible to the waiters. If `change` throws, they look
  /// again too: it may have changed something before.
  ///
  /// - Parameter change: Called at once, under the lock.
  /// - Returns: What `change` returns.
  @discardableResult
  public func update<Result: Sendable, Failure: Error>(
    _ change: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var woken: [Waiter] = []
    defer { for waiter in woken { waiter.wake() } }
    return try state.withLock { state throws(Failure) in
      defer { woken = state.waiters.claimAll() }
      return try change(&state.value)
    }
  }

  /// Blocks the thread until the value meets a condition or the deadline passes.
  ///
  /// Returns at once if the condition is met, whatever the deadline. Throws ``WaitError/Code/timedOut``;
  /// ``WaitError/Code/cancelled`` if the thread was cancelled while it waited; ``WaitError/Code/onCooperativeThread``
  /// if it would have to block a thread that must not block.
  ///
  /// - Parameters:
  ///   - deadline: When to stop waiting.
  ///   - isMet: The condition, checked under the lock now and after updates.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func wait(until deadline: Deadline = .distantFuture, _ isMet: (borrowing Value) -> Bool) throws(WaitError) {
    _ = try block(until: deadline) { isMet($0.value) ? true : nil }
  }

  /// Suspends the task until the value meets a condition or the deadline passes.
  ///
  /// Returns at once if the condition is met, whatever the deadline. Throws `CancellationError` if the task was
  /// cancelled while it waited, and ``WaitError`` with ``WaitError/Code/timedOut``.
  ///
  /// - Parameters:
  ///   - deadline: When to stop waiting.
  ///   - isMet: The condition, checked under the lock now and after updates.
  nonisolated(nonsending)
    public func wait(until deadline: Deadline = .distantFuture, _ isMet: (borrowing Value) -> Bool) async throws
  {
    _ = try await suspend(until: deadline) { isMet($0.value) ? true : nil }
  }

  /// Blocks the thread until a closure returns a result, for which it may change the value.
  ///
  ///     let job = try jobs.take { $0.popLast() }
  ///
  /// The check and the change are one step: of several threads, only one gets what there is. A result counts as an
  /// update. Throws like `wait`.
  ///
  /// - Parameters:
  ///   - deadline: When to stop waiting.
  ///   - body: Called under the lock now and after updates, until it returns something other than nil. If it returns
  ///     nil, it must not have changed the value, because no waiter would notice the change.
  /// - Returns: The result.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func take<Result: Sendable>(
    until deadline: Deadline = .distantFuture, _ body: (inout Value) -> Result?
  ) throws(WaitError) -> Result {
    let (result, woken) = try block(until: deadline) { state in
      body(&state.value).map { ($0, state.waiters.claimAll()) }
    }
    for waiter in woken { waiter.wake() }
    return result
  }

  /// Suspends the task until a closure returns a result, for which it may change the value. Otherwise like the blocking
  /// form; throws like `wait`.
  nonisolated(nonsending)
    public func take<Result: Sendable>(
      until deadline: Deadline = .distantFuture, _ body: (inout Value) -> Result?
    ) async throws -> Result
  {
    let (result, woken) = try await suspend(until: deadline) { state in
      body(&state.value).map { ($0, state.waiters.claimAll()) }
    }
    for waiter in woken { waiter.wake() }
    return result
  }

  // MARK: Waiting

  /// Calls the closure. If it has no result, a waiter joins the list under the same lock.
  private func attempt<Result: Sendable>(
    _ body: (inout State) -> Result?, joining next: Waiter? = nil, leaving last: Waiter? = nil
  ) -> Result? {
    state.withLock { state in
      if let last { state.waiters.remove(last) }
      if let result = body(&state) { return result }
      if let next { state.waiters.append(next) }
      return nil
    }
  }

  private func block<Result: Sendable>(
    until deadline: Deadline, _ body: (inout State) -> Result?
  ) throws(WaitError) -> Result {
    if let result = attempt(body) { return result }
    let start = Deadline.now
    guard deadline > start else { throw failure(ThreadPool.isCancelled ? .cancelled : .timedOut, since: start) }
    guard !WorkerThread.mustNotBlock else { throw failure(.onCooperativeThread, since: start) }
    while true {
      let waiter = Waiter.ofThread()
      if let result = attempt(body, joining: waiter) { return result }
      LineObserver.note()
      guard let code = WaitError.Code(waiter.wait(until: deadline)) else { continue }
      // An update may have come at the same moment.
      if let result = attempt(body, leaving: waiter) { return result }
      throw failure(code, since: start)
    }
  }

  nonisolated(nonsending)
    private func suspend<Result: Sendable>(
      until deadline: Deadline, _ body: (inout State) -> Result?
    ) async throws -> Result
  {
    if let result = attempt(body) { return result }
    let start = Deadline.now
    guard deadline > start else { throw failure(Task.isCancelled ? .cancelled : .timedOut, since: start).inTask }
    while true {
      let waiter = Waiter.ofTask()
      if let result = attempt(body, joining: waiter) { return result }
      LineObserver.note()
      guard let code = WaitError.Code(await waiter.wait(until: deadline)) else { continue }
      if let result = attempt(body, leaving: waiter) { return result }
      throw failure(code, since: start).inTask
    }
  }

  private func failure(_ code: WaitError.Code, since start: Deadline) -> WaitError {
    WaitError(code, operation: "wait for \"\(name)\"", waited: .now - start)
  }
}
