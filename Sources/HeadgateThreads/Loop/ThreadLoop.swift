import Synchronization

/// A run loop: a thread that waits for work and does it, one piece after another. What NSRunLoop and CFRunLoop are to a
/// thread, DispatchQueue to those who send it closures, and SwiftNIO's EventLoop to actors and tasks.
///
///     let loop = try ThreadLoop(name: "ui")
///     loop.perform { draw() }                                  // from any thread, in order
///     let size = try loop.performAndWait { window.size }       // blocks; `try await` in async code
///     try loop.perform(after: .milliseconds(20)) { blink() }   // also repeating
///     let keys = try loop.addSource { handleKeys() }           // keys.signal() from any thread
///     let input = try loop.watch(socket, for: .reading) { read() }
///
/// A loop either has a thread of its own, which this starts and ``stop()`` ends, or is the ``current`` one of a thread
/// that runs it when it likes (``run(until:)``, ``runOnce(timeout:)``). Its ``serialExecutor`` runs actors and its
/// ``taskExecutor`` tasks on that thread.
///
/// Everything that a loop takes ends exactly once: it is called, or told that it won't be. What one thread sends is
/// done in that order; there are no priorities. The inbox has no bound. An idle loop uses no processor time and, while
/// it watches no descriptor, takes none.
public final class ThreadLoop: Sendable {
  let core: LoopCore

  /// Runs actors on the loop. Always the same object.
  public let serialExecutor: LoopSerialExecutor

  /// Runs tasks on the loop. Always the same object.
  public let taskExecutor: LoopTaskExecutor

  /// The name, whole; the system shows as much of it as it takes.
  public var name: String { core.name }

  private init(core: LoopCore, serial: LoopSerialExecutor, task: LoopTaskExecutor) {
    self.core = core
    serialExecutor = serial
    taskExecutor = task
  }

  /// Starts a thread that does nothing but run this loop.
  ///
  /// When the last reference to the loop goes, it does what it has accepted and then stops, and timers and sources are
  /// told; ``stop()`` does not wait for that. Executors keep no loop running: keep the loop as long as its actors.
  ///
  /// - Parameters:
  ///   - name: The thread's name.
  ///   - stackSize: The thread's stack in bytes; 0 for the system's default.
  ///   - onError: Is told of errors that nobody waits for, on the loop, which goes on; nil for the log.
  /// - Throws: ``ThreadError`` when the system has no thread to give.
  public convenience init(
    name: String, stackSize: Int = 0, onError: (@Sendable (any Error) -> Void)? = nil
  ) throws(ThreadError) {
    let core = LoopCore(
      name: name, ownsThread: true, clock: { .now }, errors: LoopErrors(name: name, handler: onError))
    self.init(core: core, serial: LoopSerialExecutor(core), task: LoopTaskExecutor(core))
    core.adopt(self)
    do {
      _ = try WorkerThread(name: name, stackSize: stackSize) { core.live() }
    } catch {
      core.stopUnborn()
      throw error
    }
  }

  /// A loop on the calling thread that is told what the time is. The thread keeps it until it exits.
  package convenience init(
    onThisThreadNamed name: String, onError: (@Sendable (any Error) -> Void)? = nil,
    clock: @escaping @Sendable () -> Deadline = { .now }
  ) {
    let core = LoopCore(
      name: name, ownsThread: false, clock: clock, errors: LoopErrors(name: name, handler: onError))
    self.init(core: core, serial: LoopSerialExecutor(core), task: LoopTaskExecutor(core))
    core.adopt(self)
    core.keeper = self
    core.settle()
  }

  deinit { core.stopWhenDone() }

  /// The calling thread's loop: the one whose closure this is called from, else the thread's own, which is made when it
  /// is first asked for.
  ///
  /// Any thread may have one: the main thread, a pthread, libdispatch's. Nobody runs it but that thread. It lives until
  /// the thread exits; what it has left then is told so. On a thread of Swift's cooperative pool, which no loop can be
  /// run on, this makes no sense, and ``run(until:)`` throws.
  @available(*, noasync)
  public static var current: ThreadLoop {
    guard let core = LoopCore.ofThread else { return ThreadLoop(onThisThreadNamed: "thread") }
    // The last reference to a loop with its own thread may be gone while it does what is left.
    return core.facade ?? ThreadLoop(core: core, serial: LoopSerialExecutor(core), task: LoopTaskExecutor(core))
  }

  /// Whether the calling thread does this loop's work, so that what belongs to the loop may be touched.
  public var isCurrent: Bool { core.isCurrent }

  /// Whether it takes nothing any more.
  public var isStopped: Bool { core.state.withLock { $0.phase != .open } }

  /// Stops the loop for good. From any thread, also from its own; twice is once.
  ///
  /// What is being called goes on to its end, and no other call starts. Each closure that has not been called is told
  /// by its `onCancel` (those without one are counted in the log), each timer and source by its own, each
  /// `performAndWait` by ``WaitError/Code/closed``: on the loop's thread when its runs have ended, or here if nobody
  /// runs it. Jobs of actors and tasks can't be told and are run: those that are there on the loop's thread, later ones
  /// on the global executor. To do first what was accepted before: `loop.perform { loop.stop() }`.
  public func stop() { core.stop() }

  /// Waits until the loop has stopped and all that it left has been told.
  ///
  /// - Parameter deadline: When to give up.
  /// - Throws: ``WaitError``: `timedOut`, `cancelled` (the waiting thread was), `wouldDeadlock` on the loop itself,
  ///   `onCooperativeThread`.
  @available(*, noasync)
  public func join(until deadline: Deadline = .distantFuture) throws(WaitError) { try core.join(until: deadline) }

  /// Suspends until the loop has stopped and all that it left has been told. See ``join(until:)``.
  public func join(until deadline: Deadline = .distantFuture) async throws(WaitError) {
    try await core.join(until: deadline)
  }
}

extension LoopCore {
  fileprivate func adopt(_ loop: ThreadLoop) {
    facade = loop
    keepExecutors(loop.serialExecutor, loop.taskExecutor)
  }

  /// There is no thread: nothing was accepted, nothing is left.
  fileprivate func stopUnborn() {
    state.withLock { $0.phase = .finishing }
    finish()
  }

  private var joinName: String { "join of the loop \"\(name)\"" }

  func join(until deadline: Deadline) throws(WaitError) {
    let start = Deadline.now
    let waiter = Waiter.ofThread()
    guard enlist(waiter) else { return }
    let refusal: WaitError.Code? = isAtHome ? .wouldDeadlock : mustNotBlock ? .onCooperativeThread : nil
    let end = refusal == nil ? waiter.wait(until: deadline) : .cancelled
    try leave(waiter, end, refusal, start)
  }

  fileprivate func join(until deadline: Deadline) async throws(WaitError) {
    let start = Deadline.now
    let waiter = Waiter.ofTask()
    guard enlist(waiter) else { return }
    try leave(waiter, await waiter.wait(until: deadline), nil, start)
  }

  /// False: there is nothing to wait for any more.
  private func enlist(_ waiter: Waiter) -> Bool {
    state.withLock { state in
      guard !state.isFinished else { return false }
      state.joiners.append(waiter)
      return true
    }
  }

  private func leave(
    _ waiter: Waiter, _ end: Waiter.Outcome, _ refusal: WaitError.Code?, _ start: Deadline
  ) throws(WaitError) {
    if end == .woken { return }
    _ = state.withLock { $0.joiners.remove(waiter) }
    throw WaitError(
      refusal ?? (end == .cancelled ? .cancelled : .timedOut), operation: joinName, waited: .now - start)
  }
}
