// The wake-up policy of a pool: which workers run, sleep or are called. A value without threads, locks or a clock.
//
// Its one invariant: while a task waits and a thread is available, at least one worker is bound to search for work
// before it runs anything else. (Go's scheduler keeps such a "spinning" thread, see proc.go. So do folly's
// ThrottledLifoSem, and libuv since it began to count the threads that it has woken.) No further worker needs to be
// woken then, so a burst costs one wake-up instead of one per task. A worker that finds more tasks than it takes calls
// the next worker, so that long tasks spread.

/// The states of a pool's workers, and the decision which one to call when work arrives.
package struct PoolRoster {
  /// The state of a worker.
  package enum State: Hashable, Sendable {
    /// There is no thread in this slot.
    case absent
    /// A thread is being started for this slot and has not arrived.
    case starting
    /// It was woken and has not arrived.
    case called
    /// It is running a task, or is about to search for one.
    case working
    /// It has just run out of work and stays awake for a moment.
    case lingering
    /// It was woken in vain while tasks keep arriving. It checks again by itself soon, so that it need not be woken.
    case watching
    /// It sleeps until it is called or its idle time is over.
    case parked
    /// It has no more work, or is surplus, and is about to end.
    case leaving
  }

  /// The worker to call.
  package enum Call: Hashable, Sendable {
    case nothing
    /// Wake the parked worker in this slot.
    case wake(Int)
    /// Start a thread for this slot.
    case start(Int)
  }

  /// What a worker without work does next.
  package enum Rest: Hashable, Sendable {
    case linger, watch, park, end
  }

  /// The configured maximum number of working threads.
  package private(set) var size: Int
  /// The number of workers blocked in a wait for a task of their own pool that another thread must run. Each allows one
  /// additional thread.
  package private(set) var blocked = 0
  /// Whether workers end once the queue is empty.
  package private(set) var isDraining = false
  /// The number of threads, including those being started.
  package private(set) var threads = 0
  /// The largest number of threads that have run at the same time.
  package private(set) var largest = 0
  /// The number of workers bound to search for work before they run anything.
  package private(set) var searching = 0

  // The last worker to park is woken first: its caches are warm, and the others reach the end of their idle time.
  private(set) var parked: [Int] = []
  private var states: [State] = []
  private var absent: [Int] = []
  private var hasLingerer = false
  private var hasWatcher = false
  private var leaving = 0
  private var starting = 0

  package init(size: Int) { self.size = size }

  // Guards against overflow for a size of Int.max.
  private var limit: Int { size.addingReportingOverflow(blocked).overflow ? .max : size + blocked }

  /// The number of workers without work.
  package var idle: Int { parked.count + (hasLingerer ? 1 : 0) + (hasWatcher ? 1 : 0) }

  /// The number of workers that are on their way or available for new work.
  package var available: Int {
    let coming = searching + parked.count
    return max(coming, limit - (threads - coming))
  }

  /// Whether there are more threads than allowed.
  package var hasSurplus: Bool { threads - leaving > limit }

  /// The state of the worker in a slot.
  package func state(of place: Int) -> State { place < states.count ? states[place] : .absent }

  // MARK: Calling

  /// Whether any worker could be called. Checked first, because it reads only this value.
  ///
  /// - Parameter growing: Whether a new thread is started for each task beyond the number of searching workers.
  package func mayCall(growing: Bool) -> Bool {
    parked.isEmpty ? threads < limit && (growing || searching == 0) : searching == 0
  }

  /// Decides which worker to call for `work` queued tasks. O(1).
  package mutating func call(forWork work: Int, growing: Bool) -> Call {
    guard work > 0, mayCall(growing: growing) else { return .nothing }
    if let place = parked.popLast() {
      states[place] = .called
      searching += 1
      return .wake(place)
    }
    return work > searching ? .start(add()) : .nothing
  }

  private mutating func add() -> Int {
    let place = absent.popLast() ?? states.count
    if place == states.count { states.append(.starting) } else { states[place] = .starting }
    threads += 1
    starting += 1
    searching += 1
    return place
  }

  /// The system could not start the thread for a slot.
  package mutating func startFailed(_ place: Int) {
    starting -= 1
    searching -= 1
    remove(place)
  }

  private mutating func remove(_ place: Int) {
    threads -= 1
    states[place] = .absent
    absent.append(place)
  }

  // MARK: Workers

  /// A worker starts to search, from any earlier state.
  package mutating func look(_ place: Int) {
    switch states[place] {
    case .starting:
      starting -= 1
      largest = max(largest, threads - starting)
      searching -= 1
    case .called: searching -= 1
    case .lingering:
      searching -= 1
      hasLingerer = false
    case .watching:
      searching -= 1
      hasWatcher = false
    case .parked:
      // Its idle time is over, or the pool drains. The longest idle are at the bottom of the stack, where the search
      // starts.
      if let index = parked.firstIndex(of: place) { parked.remove(at: index) }
    case .absent, .working, .leaving: break
    }
    states[place] = .working
  }

  /// Makes a searching worker end if it is surplus. Returns false if it stays.
  package mutating func retire(_ place: Int) -> Bool {
    guard hasSurplus else { return false }
    states[place] = .leaving
    leaving += 1
    return true
  }

  /// A worker has searched and found nothing.
  ///
  /// - Parameters:
  ///   - mayLinger: Whether it has just worked, and other threads can run meanwhile on this machine.
  ///   - flowing: Whether tasks have arrived since its last search, and others have run them.
  ///   - expired: Whether its idle time is over.
  package mutating func rest(_ place: Int, mayLinger: Bool, flowing: Bool, expired: Bool) -> Rest {
    if isDraining || expired {
      states[place] = .leaving
      leaving += 1
      return .end
    }
    // Other workers have taken what arrived meanwhile, so they keep up: one that stays awake is enough.
    let othersAwake = threads - parked.count - leaving > 1
    if flowing, othersAwake, !hasWatcher {
      hasWatcher = true
      searching += 1
      states[place] = .watching
      return .watch
    }
    if mayLinger, !hasLingerer {
      hasLingerer = true
      searching += 1
      states[place] = .lingering
      return .linger
    }
    states[place] = .parked
    parked.append(place)
    return .park
  }

  /// A worker that was told to end has ended.
  package mutating func leave(_ place: Int) {
    leaving -= 1
    remove(place)
  }

  // MARK: Changing the number of threads

  /// Changes the maximum number of threads. Returns the slots to wake so that their workers end. Busy workers end after
  /// their tasks.
  package mutating func resize(to size: Int) -> [Int] {
    self.size = size
    return shrink()
  }

  /// A worker blocks in a wait for a task of its own pool: another may replace it.
  package mutating func block() { blocked += 1 }

  /// The worker resumes. Returns the slots to wake so that their workers end.
  package mutating func unblock() -> [Int] {
    blocked -= 1
    return shrink()
  }

  private mutating func shrink() -> [Int] {
    let surplus = threads - leaving - limit
    guard surplus > 0 else { return [] }
    let woken = Array(parked.prefix(surplus))
    parked.removeFirst(woken.count)
    for place in woken { states[place] = .called }
    searching += woken.count
    return woken
  }

  /// Makes workers end once they find no work. Returns the slots to wake for that.
  package mutating func drain() -> [Int] {
    isDraining = true
    var woken = parked
    parked = []
    for place in woken { states[place] = .called }
    searching += woken.count
    for place in states.indices where states[place] == .watching { woken.append(place) }
    return woken
  }
}
