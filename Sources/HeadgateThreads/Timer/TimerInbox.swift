/// The state that a timer thread shares with its callers, guarded by a lock: new timers, and the thread's next step.
///
/// A value. The heap belongs to the thread alone, which passes its first entry to ``turn(first:now:)``.
struct TimerInbox: ~Copyable {
  /// The size of a batch of arrivals that is inserted into the heap at once: about 100 µs of work.
  static let batch = 4096

  var slots = TimerSlots()
  // Timers added since the thread last checked, and the earliest deadline among them.
  private(set) var arrivals: [TimerEntry] = []
  private var earliestArrival = UInt64.max
  private var nextSequence: UInt64 = 0
  // The time until which the thread sleeps; `.distantPast` while it is awake, to avoid needless wake-ups.
  private var sleepsUntil = Deadline.distantPast
  var isRunning = false
  private(set) var isDisposed = false

  /// Adds a timer. Returns its key, and whether the caller must wake the thread.
  mutating func insert(at deadline: Deadline, _ action: TimerQueue.Action) -> (key: TimerQueue.Key, mustWake: Bool) {
    let key = slots.insert(action)
    arrivals.append(TimerEntry(deadline: deadline.nanoseconds, sequence: nextSequence, slot: key.slot))
    earliestArrival = min(earliestArrival, deadline.nanoseconds)
    nextSequence &+= 1
    return (key, mustWake(deadline < sleepsUntil || arrivals.count >= Self.batch))
  }

  /// Removes a timer. Returns its action if it was pending, and whether the caller must wake the thread for a sweep.
  mutating func remove(_ key: TimerQueue.Key) -> (action: TimerQueue.Action?, mustWake: Bool) {
    let action = slots.remove(key)
    return (action, mustWake(slots.wantsSweep))
  }

  /// Whether the caller must wake the thread. If so, the thread counts as awake from now on.
  private mutating func mustWake(_ reason: Bool) -> Bool {
    guard reason, sleepsUntil != .distantPast else { return false }
    sleepsUntil = .distantPast
    return true
  }

  /// Moves the arrivals to the caller, in exchange for an empty array.
  mutating func takeArrivals(_ taken: inout [TimerEntry]) {
    swap(&arrivals, &taken)
    earliestArrival = .max
  }

  /// Refuses further timers. Returns the slots, whose actions the caller releases without the lock.
  mutating func dispose() -> TimerSlots {
    isDisposed = true
    arrivals = []
    var dropped = TimerSlots()
    swap(&dropped, &slots)
    return dropped
  }

  /// Whether a thread that could not be started is still needed. If not, the next timer starts one.
  mutating func needsThread() -> Bool {
    isRunning = !isDisposed && slots.living > 0
    return isRunning
  }

  enum Turn {
    case stop, sortIn, sweep, sleep
    /// The first entry is over: with its action, or nil if it was cancelled.
    case call(TimerQueue.Action?)
  }

  /// Decides the thread's next step.
  ///
  /// Due calls come before arrivals, unless an arrival is due even earlier. So calls keep the order of their deadlines,
  /// and a flood of later timers does not delay a due one.
  ///
  /// - Parameters:
  ///   - first: The first entry of the thread's heap.
  ///   - now: The current time, read before the lock was taken.
  mutating func turn(first: TimerEntry?, now: UInt64) -> Turn {
    if isDisposed { return .stop }
    sleepsUntil = .distantPast
    let isDue = first.map { $0.deadline != .max && $0.deadline <= now } ?? false
    // Even if there are arrivals, which the sweep includes: a flood of timers that are set and cancelled could
    // otherwise put off the sweep forever.
    if slots.wantsSweep { return .sweep }
    if let first, isDue, first.deadline <= earliestArrival { return .call(slots.take(first.slot)) }
    if !arrivals.isEmpty { return .sortIn }
    guard let first else {
      sleepsUntil = .distantFuture
      return .sleep
    }
    // Cancelled entries at the top are also removed before a sleep, so that they cause no wake-up.
    if slots.isDead(first.slot) { return .call(slots.take(first.slot)) }
    sleepsUntil = Deadline(nanoseconds: first.deadline)
    return .sleep
  }
}
