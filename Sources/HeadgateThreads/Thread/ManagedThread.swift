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
