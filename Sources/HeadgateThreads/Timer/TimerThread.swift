// One thread over a heap of its own; others leave new timers in a batch for it. What the JDK's DelayScheduler (Doug Lea,
// JDK 25) does, with a short lock in place of its stack of arrivals, so that a cancel takes the closure out at once.
//
// Rejected: the heap under the lock, where each schedule waits for another's way down through a million timers; a
// hashed wheel (Varghese and Lauck, 1987), whose tick is its precision.

import CHeadgate

/// One thread that makes calls at their time, for any number of timers: what `LSTimerThread` did, without a queue and
/// a dispatch source for each.
///
/// `schedule(at:_:)` is the bare call. The `perform` family adds targets, repetition, owners and a handle to move or
/// cancel the call; `sleep` suspends a task. Calls are made in the order of their deadlines, equal ones in the order of
/// scheduling, never early, one after another on the timer thread unless they name another target. Steps of the wall
/// clock move nothing.
///
/// Scheduling and cancelling are O(1) for the caller, whatever is pending: a short lock, and a wake-up when the new timer
/// comes before all others, or when many wait to be sorted in. The thread starts with the first timer and lives until
/// ``dispose()``; ``shared`` lives as long as the process. Without timers due it uses no processor time.
public final class TimerThread: TimerService {
  private struct State: ~Copyable {
    var slots = TimerSlots()
    // New since the thread last looked. The heap itself is the thread's.
    var arrivals: [TimerEntry] = []
    var nextSequence: UInt64 = 0
    // What the thread sleeps until; `.distantPast` while it is awake, so that nobody wakes it for nothing.
    var sleepsUntil: Deadline = .distantPast
    var running = false
    var disposed = false

    /// Whether the caller has to wake the thread, which then counts as awake.
    mutating func mustWake(_ reason: Bool) -> Bool {
      guard reason, sleepsUntil != .distantPast else { return false }
      sleepsUntil = .distantPast
      return true
    }
  }

  // So many arrivals are sorted in at once without being felt: some 100 us.
  private static let batch = 4096
  // Chunks of 64 slots that a sweep looks at in one hold of the lock: half a microsecond, less than others spin for it.
  private static let sweepPiece = 16

  /// The name, which the system may cut.
  public let name: String
  let calls: TimerCalls
  private let isShared: Bool
  private let state = Locked(State())
  private let parker = Parker()

  /// The timer thread of the process.
  public static let shared = TimerThread("headgate-timer", isShared: true, limit: nil, onError: nil)

  /// A timer thread with a name of its own. No thread is started yet.
  ///
  /// - Parameters:
  ///   - name: What the system shows; it may cut it.
  ///   - limit: The most calls of the `perform` family that have not ended; nil for no limit. A call above it throws.
  ///   - onError: Is told of the errors that calls throw and of targets that refuse, on the thread where it happened,
  ///     with no lock held; nil for the log.
  public convenience init(
    name: String, limit: Int? = nil, onError: (@Sendable (any Error, TimerHandle) -> Void)? = nil
  ) {
    self.init(name, isShared: false, limit: limit, onError: onError)
  }

  private init(
    _ name: String, isShared: Bool, limit: Int?, onError: (@Sendable (any Error, TimerHandle) -> Void)?
  ) {
    self.name = name
    self.isShared = isShared
    calls = TimerCalls(name: name, limit: limit, onError: onError)
  }

  /// The monotonic clock's reading.
  public var now: Deadline { .now }

  /// How many timers are pending: exact at each moment, cancelled ones never count.
  public var pendingCount: Int { state.withLock { $0.slots.living } }

  /// Whether ``dispose()`` was called.
  public var isDisposed: Bool { state.withLock { $0.disposed } }

  /// Calls `action` once, on the timer thread, when `deadline` has passed. O(1).
  ///
  /// After ``dispose()`` the action is dropped without a call, and cancelling it says false; `perform` throws instead.
  /// If the system has no thread to give, the timer waits until a later `schedule` gets one.
  public func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let (key, mustWake, mustStart) = state.withLock { state -> (TimerQueue.Key, Bool, Bool) in
      guard !state.disposed else { return (.none, false, false) }
      let key = state.slots.insert(TimerQueue.Action(action))
      state.arrivals.append(
        TimerEntry(deadline: deadline.nanoseconds, sequence: state.nextSequence, slot: key.slot))
      state.nextSequence &+= 1
      let mustStart = !state.running
      state.running = true
      return (key, state.mustWake(deadline < state.sleepsUntil || state.arrivals.count >= Self.batch), mustStart)
    }
    if mustStart { startThread() }
    if mustWake { parker.unpark() }
    return ScheduledTimer(service: self, key: key)
  }

  /// Takes a pending call back: true if it will not start. O(1).
  public func cancel(_ timer: ScheduledTimer) -> Bool {
    // The action leaves the lock before it is let go: its captures may run any deinitializer.
    let (action, mustWake) = state.withLock { state -> (TimerQueue.Action?, Bool) in
      let action = state.slots.remove(timer.key)
      return (action, state.mustWake(state.slots.wantsSweep))
    }
    if mustWake { parker.unpark() }
    return action != nil
  }

  /// Ends the thread; from anywhere, also from inside a call, which then runs to its end. Waits for nothing.
  ///
  /// Calls of the `perform` family that have not started are cancelled: their `onCancel` is called here, once each, also
  /// for those that a target holds and has not begun. Sleeping tasks wake with ``WaitError/Code/closed``. Bare timers
  /// are dropped without a call. Later calls of `perform` throw. The thread of ``shared`` serves the whole process
  /// and stays: there, all calls of the `perform` family are cancelled, and it can be used further.
  public func dispose() {
    guard !isShared else {
      cancelAll()
      return
    }
    calls.dispose()
    HeadgateLog.note(.timer, "\(name): disposed")
    let dropped = state.withLock { state in
      state.disposed = true
      state.arrivals = []
      var slots = TimerSlots()
      swap(&slots, &state.slots)
      return slots
    }
    parker.unpark()
    _ = consume dropped
  }

  // MARK: The thread

  private func startThread() {
    do {
      _ = try WorkerThread(name: name, serves: true) { [self] in run() }
    } catch {
      state.withLock { $0.running = false }
      HeadgateLog.warn(.timer, "\(name): timers wait for a thread: \(error)")
    }
  }

  private enum Turn {
    case stop, sortIn, sweep, dropDead, sleep
    case call(TimerQueue.Action)
  }

  private func run() {
    headgate_precise_timers()
    HeadgateLog.note(.timer, "\(name): the thread runs")
    var heap = TimerHeap()
    var arrivals: [TimerEntry] = []
    while true {
      let first = heap.min
      let isDue = first.map { $0.deadline != .max && $0.deadline <= headgate_now() } ?? false
      let turn = state.withLock { state -> Turn in
        if state.disposed { return .stop }
        state.sleepsUntil = .distantPast
        if !state.arrivals.isEmpty {
          swap(&state.arrivals, &arrivals)
          return .sortIn
        }
        if state.slots.wantsSweep { return .sweep }
        guard let first else {
          state.sleepsUntil = .distantFuture
          return .sleep
        }
        // The dead at the top go before a sleep too: nobody wakes up for them.
        guard isDue || state.slots.isDead(first.slot) else {
          state.sleepsUntil = Deadline(nanoseconds: first.deadline)
          return .sleep
        }
        guard let action = state.slots.take(first.slot) else { return .dropDead }
        return .call(action)
      }
      switch turn {
      case .stop:
        HeadgateLog.note(.timer, "\(name): the thread ends")
        return
      case .sortIn:
        heap.push(contentsOf: arrivals)
        arrivals.removeAll(keepingCapacity: arrivals.capacity <= 2 * Self.batch)
      case .sweep:
        sweep(&heap)
      case .dropDead:
        heap.popMin()
      case .call(let action):
        heap.popMin()
        call(action)
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
    // Who waits behind a slow call would like to know behind what.
    if taken > .milliseconds(1) { HeadgateLog.note(.timer, "\(name): a call held up the thread for \(taken)") }
  }

  private func sweep(_ heap: inout TimerHeap) {
    HeadgateLog.note(.timer, "\(name): sweeps \(heap.count) places")
    var marks = TimerSlots.Marks()
    var arrivals: [TimerEntry] = []
    let isMarked = inPieces { state in
      guard state.slots.mark(&marks, chunks: Self.sweepPiece) else { return false }
      // In the same hold as the last piece: whatever is marked has its entry in the heap or in here.
      swap(&arrivals, &state.arrivals)
      return true
    }
    guard isMarked else { return }
    heap.sweep(adding: arrivals, dropping: marks)
    _ = inPieces { $0.slots.giveBack(&marks, chunks: Self.sweepPiece) }
  }

  /// Calls `step` until it is done, each time under the lock. False if the disposal came first: the slots are others
  /// then.
  private func inPieces(_ step: (inout State) -> Bool) -> Bool {
    while true {
      let isDone = state.withLock { state in state.disposed ? nil : Optional(step(&state)) }
      guard let isDone else { return false }
      if isDone { return true }
      // Whoever spins for the lock gets it now. Taken again at once, it would send them to sleep, piece after piece.
      for _ in 0..<SpinBudget.sweepGap { spinPause() }
    }
  }
}
