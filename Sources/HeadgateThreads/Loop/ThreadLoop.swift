import Synchronization

/// A run loop: a thread that waits for work and performs it, one item at a time. It combines NSRunLoop and CFRunLoop, a
/// serial DispatchQueue, and an executor for actors and tasks like SwiftNIO's EventLoop.
///
///     let loop = try ThreadLoop(name: "ui")
///     loop.perform { draw() }                                  // from any thread, in order
///     let size = try loop.performAndWait { window.size }       // blocks; `try await` in async code
///     try loop.perform(after: .milliseconds(20)) { blink() }   // also repeating
///     let keys = try loop.addSource { handleKeys() }           // keys.signal() from any thread
///     let input = try loop.watch(socket, for: .reading) { read() }
///
/// A loop either has its own thread, which the initializer starts and ``stop()`` ends, or it is the ``current`` loop of
/// a thread, which runs it explicitly (``run(until:)``, ``runOnce(timeout:)``). Its ``serialExecutor`` runs actors and
/// its ``taskExecutor`` runs tasks on that thread.
///
/// Everything that a loop accepts ends exactly once: it is called, or notified that it will not be called. Items from
/// one thread are performed in the order of sending; there are no priorities. The inbox is unbounded. An idle loop uses
/// no processor time and, while it watches no descriptor, no descriptors.
///
/// The precision of timed calls is a nanosecond where the system supports it: a loop's own thread requests it; any other
/// thread keeps its timer slack (50 µs on Linux). Linux before 5.11 rounds up to milliseconds while descriptors are
/// watched.
public final class ThreadLoop: Sendable {
  let core: LoopCore

  /// Runs actors on the loop. Always the same object.
  public let serialExecutor: LoopSerialExecutor

  /// Runs tasks on the loop. Always the same object.
  public let taskExecutor: LoopTaskExecutor

  /// The full name. The system may show only a part of it.
  public var name: String { core.name }

  fileprivate init(core: LoopCore) {
    self.core = core
    serialExecutor = core.serial ?? LoopSerialExecutor(core)
    taskExecutor = core.task ?? LoopTaskExecutor(core)
  }

  /// Starts a thread that only runs this loop.
  ///
  /// When the last reference to the loop is released, it performs the accepted work and then stops, and notifies timers
  /// and sources; ``stop()`` does not wait for accepted work. Executors do not keep the loop running: keep a reference
  /// to the loop as long as its actors live.
  ///
  /// - Parameters:
  ///   - name: The thread's name.
  ///   - stackSize: The size of the thread's stack in bytes; 0 for the system's default.
  ///   - onError: Called on the loop with errors of calls whose results are not waited for; the loop continues. If nil,
  ///     they are logged.
  /// - Throws: ``ThreadError`` if the system cannot start the thread.
  public convenience init(
    name: String, stackSize: Int = 0, onError: (@Sendable (any Error) -> Void)? = nil
  ) throws(ThreadError) {
    let core = LoopCore(name: name, ownsThread: true, clock: { .now }, onError: onError)
    self.init(core: core)
    core.facade = self
    do {
      _ = try WorkerThread(name: name, stackSize: stackSize, kind: .loop) { core.live() }
    } catch {
      core.stopUnborn()
      throw error
    }
  }

  /// A loop on the calling thread, with a given clock. The thread retains it until it exits.
  package convenience init(
    onThisThreadNamed name: String, onError: (@Sendable (any Error) -> Void)? = nil,
    clock: @escaping @Sendable () -> Deadline = { .now }
  ) {
    let core = LoopCore(name: name, ownsThread: false, clock: clock, onError: onError)
    self.init(core: core)
    core.facade = self
    core.keeper = self
    core.settle()
  }

  deinit { core.stopWhenDone() }

  /// The calling thread's loop: the one whose closure is running, otherwise the thread's own, which is created at the
  /// first access.
  ///
  /// Any thread can have one: the main thread, a pthread, a thread of libdispatch. Only that thread can run it. It
  /// lives until the thread exits; pending work is then notified. It is of no use on a thread of Swift's cooperative
  /// pool, where loops must not run: ``run(until:)`` throws there.
  @available(*, noasync)
  public static var current: ThreadLoop {
    guard let core = LoopCore.ofThread else { return ThreadLoop(onThisThreadNamed: "thread") }
    return core.facade ?? core.standIn()
  }

  /// Whether the calling thread is doing this loop's work, so that state that belongs to the loop may be accessed.
  public var isCurrent: Bool { core.isCurrent }

  /// Whether the loop has stopped, and accepts no more work.
  public var isStopped: Bool { core.state.withLock { $0.phase != .open } }

  /// Stops the loop for good. Can be called from any thread, including its own. Idempotent.
  ///
  /// A call in progress completes, and no other call starts. Each pending closure and timer is notified through its
  /// `onDrop` (closures without one are counted in the log), each source and watch through its `onCancel`, and each
  /// `performAndWait` through ``WaitError/Code/closed``. This happens on the loop's thread when its runs have ended, or
  /// on the calling thread if the loop is not being run. Jobs of actors and tasks cannot be notified and are run:
  /// pending ones on the loop's thread, later ones on the global executor. To perform accepted work first:
  /// `loop.perform { loop.stop() }`.
  public func stop() { core.stop() }

  /// Waits until the loop has stopped and all of its pending work has been notified.
  ///
  /// - Parameter deadline: When to stop waiting.
  /// - Throws: ``WaitError``: `timedOut`, `cancelled` if the waiting thread was cancelled, `wouldDeadlock` without a
  ///   deadline on the loop itself, `onCooperativeThread`.
  @available(*, noasync)
  public func join(until deadline: Deadline = .distantFuture) throws(WaitError) { try core.join(until: deadline) }

  /// Suspends until the loop has stopped and all of its pending work has been notified. See ``join(until:)``.
  ///
  /// - Throws: `CancellationError` if the task is cancelled; ``WaitError`` with `timedOut`.
  nonisolated(nonsending) public func join(until deadline: Deadline = .distantFuture) async throws {
    try await core.ended.pass(core.joining, until: deadline)
  }
}

extension ThreadLoop: TimedCaller {
  /// Its timed calls that have not ended, and its clock.
  public var timedCalls: TimedCalls { TimedCalls(calls: core.timerCalls, service: core) }
}

extension LoopCore {
  /// The loop's object for closures that access `current` after the last reference was released, while a loop with its
  /// own thread performs its remaining work. One object until the thread ends. On the loop's thread.
  fileprivate func standIn() -> ThreadLoop {
    if let keeper { return keeper }
    let loop = ThreadLoop(core: self)
    keeper = loop
    return loop
  }

  /// The thread could not be started: nothing was accepted, so nothing is pending.
  fileprivate func stopUnborn() {
    state.withLock { $0.phase = .finishing }
    finish()
  }

  func join(until deadline: Deadline) throws(WaitError) {
    if ended.tryPass() { return }
    if let cycle = WaitGraph.enter([self], counts: deadline == .distantFuture) {
      throw WaitError(.wouldDeadlock, operation: joining, cycle: cycle)
    }
    defer { WaitGraph.leave() }
    try ended.pass(joining, until: deadline)
  }

  fileprivate var joining: String { "join of loop \"\(name)\"" }
}
