import CHeadgate

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

// What concerns the calling thread, whoever made it: `ManagedThread.current`, `ManagedThread.sleep(for:)` and so on, as
// `Task.isCancelled` stands on Task<Never, Never>.
extension ManagedThread where Result == Void, Failure == Never {
  /// The calling thread, also when others made it. A few nanoseconds; the first call on a thread of others allocates.
  @available(*, noasync, message: "a task may change its thread at each await")
  public static var current: ThreadHandle { ThreadHandle(.current) }

  /// Whether the calling thread is the one that the process began with.
  @available(*, noasync)
  public static var isMainThread: Bool { headgate_thread_is_main() != 0 }

  /// Named values of the calling thread: the classic `threadDictionary`.
  @available(*, noasync)
  public static var dictionary: ThreadDictionary { ThreadDictionary() }

  /// Throws ``WaitError/Code/cancelled`` if the calling thread was asked to end.
  @available(*, noasync, message: "use Task.checkCancellation")
  public static func checkCancellation() throws(WaitError) {
    if ThreadRecord.current.isCancelled { throw WaitError(.cancelled, operation: "check for cancellation") }
  }

  /// Waits for the permit that ``ThreadHandle/unpark()`` leaves, and takes it. `LockSupport.park`, without returning for
  /// no reason. One that was left before is taken at once, on any thread.
  ///
  /// Throws ``WaitError/Code/timedOut`` when the deadline passes first; ``WaitError/Code/cancelled`` when the thread is
  /// or gets cancelled; ``WaitError/Code/onCooperativeThread`` if it would have to block in a task.
  @available(*, noasync)
  public static func park(until deadline: Deadline = .distantFuture) throws(WaitError) {
    let record = ThreadRecord.current
    if record.takePermit() { return }
    try wait(record, until: deadline, for: "park") { record.takePermit() }
  }

  /// Sleeps until the deadline has passed: never shorter, however many signals come. `sleep(until:)` of Foundation's
  /// `Thread` on a clock that nobody sets. At once for a deadline in the past.
  ///
  /// Throws ``WaitError/Code/cancelled`` when the thread is or gets cancelled, ``WaitError/Code/onCooperativeThread`` in a
  /// task.
  @available(*, noasync, message: "use Task.sleep")
  public static func sleep(until deadline: Deadline) throws(WaitError) {
    do throws(WaitError) {
      try wait(.current, until: deadline, for: "sleep") { false }
    } catch {
      if error.code != .timedOut { throw error }
    }
  }

  /// Sleeps that long, not at all for zero and less. See ``sleep(until:)``.
  @available(*, noasync, message: "use Task.sleep")
  public static func sleep(for duration: Duration) throws(WaitError) { try sleep(until: .after(duration)) }

  /// Lets another thread run, if one waits for the processor. To wait for something, park instead.
  @available(*, noasync, message: "use Task.yield")
  public static func yield() { sched_yield() }

  /// Receives the errors of threads that nobody joins for, unless ``ThreadAttributes/onUncaughtError`` is set; nil, as at
  /// first, for a warning in the log. Called on the thread that ends, detaches or lets go of the handle, with no lock
  /// held.
  public static var onUncaughtError: (@Sendable (any Error, ThreadHandle) -> Void)? {
    get { UncaughtErrors.processHandler }
    set { UncaughtErrors.processHandler = newValue }
  }

  private static func wait(
    _ record: ThreadRecord, until deadline: Deadline, for operation: String, _ isOver: () -> Bool
  ) throws(WaitError) {
    let began = Deadline.now
    var now = began
    while !isOver() {
      if record.isCancelled { throw WaitError(.cancelled, operation: operation, waited: now - began) }
      if deadline <= now { throw WaitError(.timedOut, operation: operation, waited: now - began) }
      // After the first look only: what is there needs no blocking.
      if WorkerThread.mustNotBlock { throw WaitError(.onCooperativeThread, operation: operation) }
      // May end early for a token of an earlier wait: we look again.
      _ = record.waitParker.park(until: deadline)
      now = .now
    }
  }
}

extension ManagedThread where Result == Void {
  /// Makes a detached thread and starts it: `Thread.detachNewThread`. An error that ends it goes to
  /// ``ThreadAttributes/onUncaughtError``. Throws as ``spawn(_:_:)`` does.
  @discardableResult
  public static func spawnDetached(
    _ attributes: ThreadAttributes = ThreadAttributes(), _ body: sending @escaping () throws(Failure) -> sending Void
  ) throws(ThreadError) -> ThreadHandle {
    var attributes = attributes
    attributes.isDetached = true
    return try spawn(attributes, body).handle
  }
}
