// The bridge for threads that may block: it can wait for every async function of this library.

import HeadgateThreads
import Synchronization

/// Calls a callback function and blocks the calling thread until it answers, in place of the usual semaphore.
///
///     let page = try waitForCallback(until: .after(.seconds(10))) { completion in
///       session.load(url) { data, error in completion(data, error) }
///     }
///
/// Only the calling thread is blocked. There is exactly one outcome: see ``Completion``. An answer that has arrived by
/// the deadline counts.
///
/// - Parameters:
///   - deadline: When to stop waiting. The function's cancellation handlers are called, and the call returns at once.
///   - target: Where the function is going to answer, if that is known. The wait is refused if that is the calling
///     thread itself.
///   - discard: Receives a success that arrives after the wait has ended, for example to close or destroy it.
///   - function: The function, which is called at once on the calling thread.
/// - Returns: The value that the function succeeded with.
/// - Throws: The function's error. ``FlowError``: `completionReleased`. `WaitError`: `timedOut`; `cancelled` if the thread
///   was cancelled; `onCooperativeThread` on a thread that runs Swift tasks and is not one of Headgate's; `wouldDeadlock`
///   if the calling thread would have to deliver the answer. In the case of `onCooperativeThread`, and of
///   `wouldDeadlock` because of `target`, the function is not called. If the function itself has declared the target,
///   it is cancelled.
@available(*, noasync, message: "blocks the thread; use awaitCallback")
public func waitForCallback<Success: Sendable>(
  until deadline: Deadline = .distantFuture, calledOn target: Delivery = .inline,
  discard: (@Sendable (Success) -> Void)? = nil, _ function: CallbackFunction<Success>
) throws -> Success {
  try block("waitForCallback", until: deadline, calledOn: target, discard, function)
}

/// Runs an async function in a task and blocks the calling thread until it has ended.
///
///     let pages = try waitForTask(until: .after(.seconds(10))) { try await allSucceed(urls, load) }
///
/// For threads that may block: one of your own, or a dispatch queue's. The task inherits the caller's task-local
/// values, and is cancelled if the wait ends first. If it ignores the cancellation, it continues and counts in
/// ``Losers/abandonedCount``.
///
/// - Parameters:
///   - deadline: When to stop waiting.
///   - priority: The task's priority; nil for the caller's.
///   - discard: Receives a success that arrives after the wait has ended.
///   - operation: The function to run. A function isolated to the main actor is refused on the main thread, and one
///     isolated to an actor of a loop is refused on that loop's thread. Hops that it makes later cannot be detected;
///     only the deadline ends such a wait.
/// - Returns: The value that the function returned.
/// - Throws: The function's error. `WaitError`: `timedOut`, `cancelled` if the thread was cancelled, `wouldDeadlock`,
///   `onCooperativeThread`.
@available(*, noasync, message: "blocks the thread; call the function")
public func waitForTask<Success: Sendable>(
  until deadline: Deadline = .distantFuture, priority: TaskPriority? = nil,
  discard: (@Sendable (Success) -> Void)? = nil,
  _ operation: @escaping @isolated(any) @Sendable () async throws -> Success
) throws -> Success {
  if let actor = operation.isolation, ThreadDuties.current.include(actor) {
    // Checked first, because it also applies to threads that may block.
    throw WaitError(.wouldDeadlock, operation: "waitForTask")
  }
  return try block("waitForTask", until: deadline, discard, callbackFunction(priority: priority, operation))
}

@available(*, noasync)
private func block<Success: Sendable>(
  _ operation: String, until deadline: Deadline, calledOn target: Delivery = .inline,
  _ discard: (@Sendable (Success) -> Void)?, _ function: CallbackFunction<Success>
) throws -> Success {
  guard !WorkerThread.mustNotBlock else { throw WaitError(.onCooperativeThread, operation: operation) }
  let start = Deadline.now
  let blocked = BlockedThread()
  guard !blocked.isNeeded(by: target) else { throw WaitError(.wouldDeadlock, operation: operation) }
  defer { blocked.end() }
  let call = CallbackCall<Success>(blocked: blocked, discard: discard)
  BlockedThread.$current.withValue(blocked) { function(Completion(call)) }
  let waiter = Waiter.ofThread()
  let outcome = call.listen(waiter) ? waiter.wait(until: deadline) : .woken
  if let answer = call.leave() { return try answer.get() }
  // The hooks run after the wait has ended, so an answer from one of them comes too late, on any thread.
  call.cancel()
  throw WaitError(outcome == .cancelled ? .cancelled : .timedOut, operation: operation, waited: .now - start)
}

/// A thread that is blocked until an operation has ended, and the executors that depend on it.
///
/// Tasks started for the operation find it in a task-local value. So a wait for an answer that only this thread could
/// deliver is refused, wherever in the flow it occurs.
final class BlockedThread: Sendable {
  @TaskLocal static var current: BlockedThread?

  private let duties = ThreadDuties.current
  // A task may outlive the wait that it was started in.
  private let isOver = AtomicCell<Bool>(false)

  /// Whether the place cannot make progress while the thread is blocked.
  func isNeeded(by target: Delivery) -> Bool { !isOver.load(ordering: .relaxed) && target.needs(duties) }

  /// Called when the thread resumes.
  func end() { isOver.store(true, ordering: .relaxed) }
}
