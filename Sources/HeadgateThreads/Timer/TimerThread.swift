// One thread with its own heap; callers leave new timers for it in a batch. This is the design of the JDK's
// DelayScheduler (Doug Lea, JDK 25), with a short lock in place of its stack of arrivals, so that a cancel removes the
// closure at once.
//
// Rejected: a heap under the lock, where each schedule waits while another is inserted among a million timers; a hashed
// wheel (Varghese and Lauck, 1987), whose precision is limited to its tick.

import CHeadgate

/// One thread that makes calls at given times, for any number of timers. The equivalent of `LSTimerThread`, without a
/// queue and a dispatch source for each timer.
///
/// `schedule(at:_:)` is the basic call. The `perform` family adds other delivery targets, repetition, owners, and a
/// handle to reschedule or cancel the call. `sleep` suspends a task. Calls are made in the order of their deadlines,
/// those with equal deadlines in the order of scheduling, never early, and one at a time on the timer thread unless
/// they name another target. Changes of the wall clock have no effect.
///
/// A call may block on a timer thread of the program, and then delays the others there. The thread of ``shared`` serves
/// the whole process: a wait of a call on it throws ``WaitError/Code/onCooperativeThread``.
///
/// Scheduling and cancelling are O(1) for the caller, however many timers are pending: a short lock, and a wake-up if
/// the new timer is the earliest or many arrivals have accumulated. Only a sweep of many cancelled timers holds the lock
/// longer: it visits one word for 64 timers, and frees memory. The thread starts with the first timer and lives until
/// ``dispose()``; ``shared`` lives as long as the process. While no timer is due it uses no processor time.
public final class TimerThread: TimerService {
  /// The name, which the system may truncate.
  public let name: String
  let calls: TimerCalls
  /// What the thread's start needs of the system. Tests replace it.
  struct System: Sendable {
    /// Starts a thread, given its name, kind and body.
    var spawn: @Sendable (String, ThreadKind, @escaping @Sendable () -> Void) throws -> Void = {
      _ = try WorkerThread(name: $0, stackSize: 0, kind: $1, $2)
    }
    /// Calls a closure a moment later, without a timer thread.
    var later: @Sendable (@escaping @Sendable () -> Void) -> Void = { action in
      Task.detached {
        try? await Task.sleep(for: .milliseconds(10))
        action()
      }
    }
  }

  private let system: System
  private let inbox = Locked(TimerInbox())
  private let parker = Parker()
  // Opens when the timer thread is disposed of. Sleeping tasks wait for it, with the end of their sleep as the
  // deadline.
  let disposal = Locked(Latch.State(count: 1))

  /// The process-wide timer thread, for the program's timers. A slow call delays the others: give it another
  /// ``Delivery``, or a separate timer thread.
  public static let shared = TimerThread(name: "headgate-timer")

  /// The timer thread for the deadlines of waits. Its actions only wake a thread or a task, or hand a call to another
  /// thread. No code of the program runs here, so none can delay a wait.
  @usableFromInline
  package static let deadlines = TimerThread(name: "headgate-waits")

  /// The timer thread of gates, requests and coordinators. Its actions may run the program's code: the completion of a
  /// request that times out, or the start of one that an observer hears of. A slow call delays the time limits of other
  /// requests, but no wait.
  @usableFromInline
  package static let requests = TimerThread(name: "headgate-limits")

  /// Creates a timer thread with a name. The thread is not started yet.
  ///
  /// - Parameters:
  ///   - name: The name that the system shows, which it may truncate.
  ///   - limit: The maximum number of calls of the `perform` family that have not ended; nil for no limit. A call above
  ///     it throws.
  ///   - onError: Called with errors that calls throw, and with refusals by delivery targets, on the thread where they
  ///     occur, without a lock. If nil, they are logged.
  public convenience init(
    name: String, limit: Int? = nil, onError: (@Sendable (any Error, TimerHandle) -> Void)? = nil
  ) {
    self.init(name: name, limit: limit, onError: onError, System())
  }

  init(name: String, limit: Int? = nil, onError: (@Sendable (any Error, TimerHandle) -> Void)? = nil, _ system: System)
  {
    self.name = name
    self.system = system
    calls = TimerCalls(name: name, limit: limit, onError: onError)
  }

  /// The reading of the monotonic clock.
  public var now: Deadline { .now }

  /// The exact number of pending timers at this moment, without cancelled ones.
  public var pendingCount: Int { inbox.withLock { $0.slots.living } }

  /// Whether ``dispose()`` was called.
  public var isDisposed: Bool { inbox.withLock { $0.isDisposed } }

  /// Calls `action` once, on the timer thread, after `deadline` has passed. O(1).
  ///
  /// After ``dispose()`` the action is released without a call, and cancelling it returns false; `perform` throws
  /// instead. If the system cannot start the thread, the calls come late: the start is tried again every 10 ms.
  public func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let (key, mustWake, mustStart) = inbox.withLock { inbox -> (TimerQueue.Key, Bool, Bool) in
      guard !inbox.isDisposed else { return (.none, false, false) }
      let (key, mustWake) = inbox.insert(at: deadline, TimerQueue.Action(action))
      let mustStart = !inbox.isRunning
      inbox.isRunning = true
      return (key, mustWake, mustStart)
    }
    if mustStart { startThread() }
    if mustWake { parker.unpark() }
    return ScheduledTimer(service: self, key: key)
  }

  /// Cancels a pending call. Returns true if it will not start. O(1).
  public func cancel(_ timer: ScheduledTimer) -> Bool {
    // Removed under the lock, released after it: its captures may run any deinitializer.
    let (action, mustWake) = inbox.withLock { $0.remove(timer.key) }
    if mustWake { parker.unpark() }
    return action != nil
  }

  /// Ends the thread. Can be called from any thread, even from inside a timer's call, which then completes. Does not
  /// wait.
  ///
  /// Calls of the `perform` family that have not started are cancelled: their `onDrop` is called on the calling
  /// thread, once each, including those that were passed to another target but have not begun there. Sleeping tasks
  /// resume with ``WaitError/Code/closed``. Actions of `schedule` are released without a call: a function of
  /// HeadgateFlow that has this clock no longer notices its deadline, and a wait between two attempts ends only by a
  /// cancellation. Later calls of `perform` throw. ``shared`` serves the whole process and is not ended: its calls of
  /// the `perform` family are cancelled, and it can still be used.
  public func dispose() {
    if servesProcess {
      cancelAll()
      return
    }
    calls.dispose()
    HeadgateLog.note(.timer, "\(name): disposed")
    let dropped = inbox.withLock { $0.dispose() }
    parker.unpark()
    for sleeper in disposal.withLock({ $0.countDown(1) }) { sleeper.wake() }
    _ = consume dropped
  }

  /// Cancels all calls of the `perform` family. Returns their number.
  @discardableResult
  public func cancelAll() -> Int { calls.cancelAll() }

  /// Suspends the task until the deadline has passed; it never resumes earlier. Does not block a thread.
  ///
  /// Threads sleep with `ManagedThread.sleep` instead.
  ///
  /// - Parameters:
  ///   - deadline: When to resume.
  ///   - tolerance: Ignored.
  /// - Throws: `CancellationError` if the task is cancelled before or during the sleep; ``WaitError`` with `closed` if
  ///   the timer thread is disposed of.
  nonisolated(nonsending) public func sleep(until deadline: Deadline, tolerance: Duration? = nil) async throws {
    let start = now
    try Task.checkCancellation()
    // Waits for the disposal, with the end of the sleep as the deadline. The timeout is the normal case.
    do {
      try await disposal.pass("sleep", until: deadline)
    } catch let error as WaitError where error.code == .timedOut {
      return
    }
    throw WaitError(.closed, operation: "sleep on \"\(name)\"", waited: now - start)
  }

  // MARK: The thread

  private var servesProcess: Bool { self === Self.shared || self === Self.deadlines || self === Self.requests }

  private func startThread(isFirst: Bool = true) {
    do {
      try system.spawn(name, servesProcess ? .service : .loop) { [self] in run() }
    } catch {
      if isFirst { HeadgateLog.warn(.timer, "\(name): cannot start the timer thread, and tries again: \(error)") }
      // The caller is about to wait for its deadline, and no other call may ever come.
      system.later { [self] in
        if inbox.withLock({ $0.needsThread() }) { startThread(isFirst: false) }
      }
    }
  }

  private func run() {
    headgate_precise_timers()
    DumpRegistry.add(self)
    defer { DumpRegistry.remove(self) }
    HeadgateLog.note(.timer, "\(name): the thread starts")
    var heap = TimerHeap()
    var arrivals: [TimerEntry] = []
    while true {
      let first = heap.min
      // The clock is not read if the heap is empty.
      let now = first == nil ? 0 : headgate_now()
      let turn = inbox.withLock { inbox in
        let turn = inbox.turn(first: first, now: now)
        if case .sortIn = turn { inbox.takeArrivals(&arrivals) }
        return turn
      }
      switch turn {
      case .stop:
        HeadgateLog.note(.timer, "\(name): the thread ends")
        return
      case .sortIn:
        heap.push(contentsOf: arrivals)
        arrivals.removeAll(keepingCapacity: arrivals.capacity <= 2 * TimerInbox.batch)
      case .sweep:
        sweep(&heap)
      case .call(let action):
        heap.popMin()
        if let action { call(action) }
      case .sleep:
        _ = parker.park(until: first.map { Deadline(nanoseconds: $0.deadline) } ?? .distantFuture)
      }
    }
  }

  private func call(_ action: TimerQueue.Action) {
    guard HeadgateLog.isEnabled(.timer) else { return withAutoreleasePool { action() } }
    let start = Deadline.now
    withAutoreleasePool { action() }
    let taken = Deadline.now - start
    // Helps to explain late calls.
    if taken > .milliseconds(1) { HeadgateLog.note(.timer, "\(name): a call blocked the thread for \(taken)") }
  }

  private func sweep(_ heap: inout TimerHeap) {
    HeadgateLog.note(.timer, "\(name): sweeps \(heap.count) places")
    var arrivals: [TimerEntry] = []
    let marks = inbox.withLock { inbox in
      // Under the same acquisition, so that the entry of every marked slot is in the heap or among these arrivals.
      inbox.takeArrivals(&arrivals)
      return inbox.slots.marks
    }
    heap.sweep(adding: arrivals, dropping: marks)
    // A timer thread that was disposed of meanwhile has new slots.
    inbox.withLock { if !$0.isDisposed { $0.slots.giveBack(marks) } }
  }
}

extension TimerThread: TimedCaller {
  /// Its calls that have not ended, and its clock.
  public var timedCalls: TimedCalls { TimedCalls(calls: calls, service: self) }
}
