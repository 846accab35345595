import CHeadgate

/// A dedicated thread with a typed result, for work that blocks, computes for a long time, or must stay on one thread.
///
///     let thread = try ManagedThread.spawn(name: "indexer") { try index(files) }
///     …
///     let count = try thread.join()
///
/// It covers `Thread` of Foundation and `pthread_create`, and adds what they lack. A join returns the result or throws
/// the error. A second join is an error instead of undefined behaviour. `cancel` also ends the thread's waits in this
/// library.
///
/// The body runs once, inside an autorelease pool on systems with Objective-C. Task-local values, a task's cancellation
/// and actor isolation do not carry over: capture what the body needs. As in POSIX, the thread inherits its creator's
/// signal mask, and Headgate never changes it. libdispatch's threads, and so Swift tasks on Linux, block most signals:
/// a thread that handles signals or starts other programs must unblock them first.
///
/// This object is the handle. If its last reference is released before the thread is joined, a running thread is
/// detached and a warning is logged; a thread that was not started is discarded with its body. Threads end with the
/// process: when `main` returns, running threads are stopped wherever they are.
///
/// After `fork` without `exec` the child has only the thread that called `fork`, and a join there would never return.
/// As in any program with threads, call `exec` next.
public final class ManagedThread<Success, Failure: Error>: Sendable {
  @usableFromInline let core: ThreadCore

  /// Creates a thread without starting it. Call ``start()`` to start it.
  ///
  /// - Parameters:
  ///   - attributes: The thread's attributes. ``configure(_:)`` can change them until the start.
  ///   - body: The closure to run. It need not be `Sendable`: it moves to the thread, and its result moves back.
  @inlinable
  public init(
    _ attributes: ThreadAttributes = ThreadAttributes(),
    _ body: sending @escaping () throws(Failure) -> sending Success
  ) {
    core = ThreadCore(attributes, TypedThreadWork(body))
  }

  @inlinable deinit { core.handleReleased() }

  /// Creates a thread and starts it at once.
  ///
  /// Throws a ``ThreadError`` if the system refuses: no more threads, or a stack or priority that it does not grant. In
  /// that case the body does not run.
  @inlinable
  public static func spawn(
    _ attributes: ThreadAttributes = ThreadAttributes(),
    _ body: sending @escaping () throws(Failure) -> sending Success
  ) throws(ThreadError) -> ManagedThread {
    let thread = ManagedThread(attributes, body)
    try thread.start()
    return thread
  }

  /// Creates a thread with a name and starts it at once. Throws like ``spawn(_:_:)``.
  @inlinable
  public static func spawn(
    name: String, _ body: sending @escaping () throws(Failure) -> sending Success
  ) throws(ThreadError) -> ManagedThread {
    try spawn(ThreadAttributes(name: name), body)
  }

  /// The thread's attributes, before and after the start.
  public var attributes: ThreadAttributes { core.attributes }

  /// Changes the attributes of a thread that has not been started. Call it from one thread at a time.
  ///
  /// Throws ``ThreadError/Code/alreadyStarted`` after the start. From then on only the priority can be changed, through
  /// ``handle``.
  public func configure(_ change: (inout ThreadAttributes) -> Void) throws(ThreadError) {
    var attributes = core.attributes
    change(&attributes)
    try core.setAttributes(attributes)
  }

  /// Starts the thread.
  ///
  /// If the priority has to be requested from the system, the call returns after the system has answered.
  ///
  /// Throws ``ThreadError/Code/alreadyStarted`` on a second call, even after the thread's end, and otherwise throws
  /// like ``spawn(_:_:)``. After such a refusal the thread is unchanged, and can be configured and started again.
  @inlinable
  public func start() throws(ThreadError) {
    // Keeps the handle alive until the start is over: its deinitializer reads the thread's phase.
    defer { withExtendedLifetime(self) {} }
    try core.start()
  }

  /// Detaches the thread: it will not be joined, and its body's error goes to ``ThreadAttributes/onUncaughtError``. A
  /// thread that has ended can be detached too.
  ///
  /// Throws ``JoinErrorCode/alreadyJoined`` if the thread has been or is being joined, and ``JoinErrorCode/detached``
  /// on a second call.
  public func detach() throws(JoinError<Failure>) {
    if let code = core.detach() { throw JoinError(code, thread: name) }
  }

  /// A handle for other threads: the thread's name, stack and effective priority, and `unpark` for its `park`.
  public var handle: ThreadHandle { ThreadHandle(core.record) }

  /// The full name.
  public var name: String { core.record.name }

  /// The size of its stack in bytes, which may exceed the requested size; nil while it does not run.
  public var stackSize: Int? { handle.stackSize }

  /// Whether the thread has been started and its body has not ended.
  public var isRunning: Bool {
    core.state.withLock { $0.phase == .running || $0.phase == .starting }
  }

  /// Whether the body has ended.
  public var hasEnded: Bool { core.state.withLock { $0.phase == .ended } }

  /// Whether the thread was cancelled.
  public var isCancelled: Bool { core.record.isCancelled }

  /// Cancels the thread. Cancellation is cooperative: the body checks `ManagedThread.current.isCancelled`, and the
  /// current and all later waits in this library (sleep, park, join, queues) throw ``WaitError/Code/cancelled``. If the
  /// thread has not started, its body still runs, and is cancelled from the beginning. O(1).
  public func cancel() { core.record.cancel() }

  /// Leaves the permit that the thread's `park` waits for. See ``ThreadHandle/unpark()``.
  public func unpark() { core.record.leavePermit() }
}

// Operations on the calling thread, including threads that Headgate did not start: `ManagedThread.current`,
// `ManagedThread.sleep(for:)` and so on. They are static members of ManagedThread<Void, Never>, as `Task.isCancelled`
// is one of Task<Never, Never>.

extension ManagedThread where Success == Void, Failure == Never {
  /// The calling thread, including threads that Headgate did not start. Takes a few nanoseconds; the first call on such
  /// a foreign thread allocates.
  @available(*, noasync, message: "a task may change its thread at each await")
  public static var current: ThreadHandle { ThreadHandle(.current) }

  /// Whether the calling thread is the process's initial thread.
  @available(*, noasync)
  public static var isMainThread: Bool { headgate_thread_is_main() != 0 }

  /// Named values of the calling thread, like Foundation's `threadDictionary`.
  @available(*, noasync)
  public static var dictionary: ThreadDictionary { ThreadDictionary() }

  /// Throws ``WaitError/Code/cancelled`` if the calling thread was cancelled.
  @available(*, noasync, message: "use Task.checkCancellation")
  public static func checkCancellation() throws(WaitError) {
    if ThreadRecord.current.isCancelled { throw WaitError(.cancelled, operation: "check for cancellation") }
  }

  /// Waits for the permit that ``ThreadHandle/unpark()`` leaves, and takes it. Like `LockSupport.park`, but without
  /// spurious returns. A permit left earlier is taken at once, on any thread.
  ///
  /// Throws ``WaitError/Code/timedOut`` if the deadline passes first; ``WaitError/Code/cancelled`` if the thread is or
  /// becomes cancelled; ``WaitError/Code/onCooperativeThread`` if it would have to block inside a task.
  @available(*, noasync)
  public static func park(until deadline: Deadline = .distantFuture) throws(WaitError) {
    try ThreadRecord.current.permit.pass("park", until: deadline)
  }

  /// Sleeps until the deadline has passed. Signals do not shorten the sleep. Like `sleep(until:)` of Foundation's
  /// `Thread`, on a monotonic clock. Returns at once for a deadline in the past.
  ///
  /// Throws ``WaitError/Code/cancelled`` if the thread is or becomes cancelled, and
  /// ``WaitError/Code/onCooperativeThread`` inside a task.
  @available(*, noasync, message: "use Task.sleep")
  public static func sleep(until deadline: Deadline) throws(WaitError) {
    let start = Deadline.now
    if deadline > start, WorkerThread.mustNotBlock { throw WaitError(.onCooperativeThread, operation: "sleep") }
    if Waiter.ofThread().wait(until: deadline) == .cancelled {
      throw WaitError(.cancelled, operation: "sleep", waited: .now - start)
    }
  }

  /// Sleeps for a duration; returns at once for zero or less. See ``sleep(until:)``.
  @available(*, noasync, message: "use Task.sleep")
  public static func sleep(for duration: Duration) throws(WaitError) { try sleep(until: .after(duration)) }

  /// Yields the processor to another thread that is ready to run. To wait for an event, use ``park(until:)`` instead.
  @available(*, noasync, message: "use Task.yield")
  public static func yield() { sched_yield() }

  /// Receives the errors of threads that are never joined, unless ``ThreadAttributes/onUncaughtError`` is set. If nil,
  /// the default, such an error is logged as a warning. Called without a lock, on the thread that ends, detaches the
  /// thread or drops its handle.
  public static var onUncaughtError: (@Sendable (any Error, ThreadHandle) -> Void)? {
    get { UncaughtErrors.processHandler }
    set { UncaughtErrors.processHandler = newValue }
  }
}

extension ManagedThread where Success == Void {
  /// Creates a detached thread and starts it, like `Thread.detachNewThread`. An error that ends it goes to
  /// ``ThreadAttributes/onUncaughtError``. Throws like ``spawn(_:_:)``.
  @discardableResult
  public static func spawnDetached(
    _ attributes: ThreadAttributes = ThreadAttributes(), _ body: sending @escaping () throws(Failure) -> sending Void
  ) throws(ThreadError) -> ThreadHandle {
    var attributes = attributes
    attributes.isDetached = true
    return try spawn(attributes, body).handle
  }
}

extension ManagedThread {
  /// Waits until the thread has ended and returns its result. By the time it returns, the thread's thread-local values
  /// have been destroyed and its stack released.
  ///
  /// The result moves to the caller, so a thread can be joined only once. A join that timed out or was cancelled has no
  /// effect, and can be repeated. If the thread has already ended, the call returns its result even with a deadline in
  /// the past or after a cancellation.
  ///
  /// - Parameter deadline: When to stop waiting. It does not cover the final exit of a thread whose body and
  ///   thread-local values have already ended.
  ///
  /// Throws ``JoinErrorCode/failed`` with the body's error; ``JoinErrorCode/alreadyJoined`` if another join came first;
  /// ``JoinErrorCode/joinedItself``; ``JoinErrorCode/detached``; ``JoinErrorCode/notStarted``;
  /// ``JoinErrorCode/timedOut``; ``JoinErrorCode/cancelled`` if the calling thread is cancelled;
  /// ``JoinErrorCode/wouldDeadlock`` if the thread itself waits without a deadline for the caller's end, directly or
  /// through others; ``JoinErrorCode/onCooperativeThread`` inside a task.
  @available(*, noasync, message: "use value(until:)")
  @inlinable
  public func join(until deadline: Deadline = .distantFuture) throws(JoinError<Failure>) -> sending Success {
    let began = Deadline.now
    return try outcome(after: core.join(until: deadline), since: began)
  }

  /// Suspends until the thread has ended, and returns its result: the form of ``join(until:)`` for tasks. Cancelling
  /// the task ends the wait, not the thread.
  ///
  /// Throws ``JoinError`` like ``join(until:)``, but `CancellationError` if the task is cancelled. The thread's stack
  /// may be released a moment after this call returns.
  @inlinable
  nonisolated(nonsending) public func value(until deadline: Deadline = .distantFuture) async throws -> sending Success {
    let began = Deadline.now
    let refusal = await core.join(until: deadline)
    if refusal?.code == .cancelled { throw CancellationError() }
    return try outcome(after: refusal, since: began)
  }

  @inlinable
  func outcome(
    after refusal: ThreadCore.Refusal?, since began: Deadline
  ) throws(JoinError<Failure>) -> sending Success {
    if let refusal {
      throw JoinError(refusal.code, thread: name, waited: .now - began, cycle: refusal.cycle)
    }
    // Unchecked: the initializer made it with these types.
    switch unsafeDowncast(core.work, to: TypedThreadWork<Success, Failure>.self).takeOutcome() {
    case .success(let result): return result
    case .failure(let failure): throw JoinError(.failed, failure: failure, thread: name, waited: .now - began)
    case nil: throw JoinError(.exited, thread: name, waited: .now - began)
    }
  }
}
