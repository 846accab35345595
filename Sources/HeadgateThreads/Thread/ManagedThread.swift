/// A thread of its own for work that blocks, computes long, or must keep to one thread, with a typed result.
///
///     let thread = try ManagedThread.spawn(name: "indexer") { try index(files) }
///     …
///     let count = try thread.join()
///
/// What `Thread` of Foundation and `pthread_create` do, and what they leave out: the result and the error arrive where
/// the thread is joined, a second join is an error and not undefined, and `cancel` also ends what the thread waits for in
/// this library.
///
/// The body runs once, inside an autorelease pool where Objective-C exists. Task-local values, a task's cancellation and
/// actors do not reach it: capture what it needs. The thread has its creator's signal mask, as POSIX has it, from its first
/// line to its last; Headgate never changes it. Mind that libdispatch's threads, and so the tasks of Swift on Linux, block
/// most signals: a thread that is to handle them, or to start other programs, unblocks them first.
///
/// This object is the handle. When the last reference to it goes before anybody has joined, a running thread is detached,
/// and the log says so; a thread that was not started is simply gone, its body with it. Threads end with the process:
/// when `main` returns, those that still run are stopped where they are.
///
/// After `fork` without `exec` the child has only the thread that called it, and a join there would wait for ever: as
/// everywhere with threads, call `exec` next.
public final class ManagedThread<Result, Failure: Error>: Sendable {
  @usableFromInline let core: ThreadCore

  /// A thread that ``start()`` will start.
  ///
  /// - Parameters:
  ///   - attributes: How it is to be made; can be changed until the start with ``configure(_:)``.
  ///   - body: What it runs. Nothing of it need be `Sendable`: it moves to the thread, and its result back.
  @inlinable
  public init(
    _ attributes: ThreadAttributes = ThreadAttributes(),
    _ body: sending @escaping () throws(Failure) -> sending Result
  ) {
    core = ThreadCore(attributes, ThreadWork(body))
  }

  @inlinable deinit { core.handleGoes() }

  /// Makes a thread and starts it at once.
  ///
  /// Throws a ``ThreadError`` when the system refuses: no more threads, a stack or a priority that it does not grant. Then
  /// the body has not run.
  @inlinable
  public static func spawn(
    _ attributes: ThreadAttributes = ThreadAttributes(),
    _ body: sending @escaping () throws(Failure) -> sending Result
  ) throws(ThreadError) -> ManagedThread {
    let thread = ManagedThread(attributes, body)
    try thread.start()
    return thread
  }

  /// Makes a thread with a name and starts it at once. Throws as ``spawn(_:_:)`` does.
  @inlinable
  public static func spawn(
    name: String, _ body: sending @escaping () throws(Failure) -> sending Result
  ) throws(ThreadError) -> ManagedThread {
    try spawn(ThreadAttributes(name: name), body)
  }

  /// How it was made, or is to be made.
  public var attributes: ThreadAttributes { core.attributes }

  /// Changes the attributes of a thread that has not been started. From one thread at a time.
  ///
  /// Throws ``ThreadError/Code/alreadyStarted`` afterwards: only the priority can still be changed, through ``handle``.
  public func configure(_ change: (inout ThreadAttributes) -> Void) throws(ThreadError) {
    var attributes = core.attributes
    change(&attributes)
    try core.setAttributes(attributes)
  }

  /// Starts the thread.
  ///
  /// With a priority that has to be asked for, it returns once the system has answered.
  ///
  /// Throws ``ThreadError/Code/alreadyStarted`` the second time, also after the end, and otherwise as ``spawn(_:_:)``;
  /// then the thread is as before, and can be configured and started anew.
  @inlinable
  public func start() throws(ThreadError) {
    // Not before the start is over: letting go of the handle looks what phase the thread is in.
    defer { withExtendedLifetime(self) {} }
    try core.start()
  }

  /// Lets the thread go: nobody will join it, and an error of its body goes to ``ThreadAttributes/onUncaughtError``. Also
  /// when it has ended already.
  ///
  /// Throws ``JoinErrorCode/alreadyJoined`` when somebody has joined it or is doing so, ``JoinErrorCode/detached`` the
  /// second time.
  public func detach() throws(JoinError<Failure>) {
    if let code = core.detach() { throw JoinError(code, thread: name) }
  }

  /// The thread as others see it: its name, stack and effective priority, `unpark` for its `park`.
  public var handle: ThreadHandle { ThreadHandle(core.record) }

  /// The name, whole.
  public var name: String { core.record.name }

  /// The bytes of its stack, which may be more than was asked for; nil when it doesn't run.
  public var stackSize: Int? { handle.stackSize }

  /// Whether it has been started and its body has not ended.
  public var isRunning: Bool {
    core.state.withLock { $0.phase == .running || $0.phase == .starting }
  }

  /// Whether its body has ended.
  public var hasEnded: Bool {
    core.state.withLock { $0.phase == .bodyEnded || $0.phase == .ended }
  }

  /// Whether it was asked to end.
  public var isCancelled: Bool { core.record.isCancelled }

  /// Asks the thread to end. It does so itself, when it looks at `ManagedThread.current.isCancelled` or when a wait in
  /// this library (sleep, park, join, queues) throws ``WaitError/Code/cancelled``: the one that it is in and all later
  /// ones. Before the start it takes effect in the body, which runs in any case. O(1).
  public func cancel() { core.record.cancel() }

  /// Leaves the thread the permit that its `park` waits for. See ``ThreadHandle/unpark()``.
  public func unpark() { core.record.leavePermit() }
}
