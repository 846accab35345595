import CHeadgate

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
