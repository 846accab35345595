// Who works, who sleeps and who is called: the wake policy of a pool, as a value without threads, locks or a clock.
//
// One rule carries it: while there is work that nobody runs and a thread that could be had, at least one worker is bound
// to look for work before it runs anything else (Go's scheduler keeps one such "spinning" thread, proc.go; so do folly's
// ThrottledLifoSem and libuv since it counts the woken). Nobody else needs to be woken then, so that a burst costs one
// wake-up and not one a task; and whoever finds more than it takes calls the next, so that long tasks spread.

/// The workers of one pool by what they do, and whom to call when work comes.
package struct PoolRoster {
  /// What a worker does.
  package enum State: Hashable, Sendable {
    /// There is no thread in this place.
    case absent
    /// It was started or woken, and has not come yet.
    case called
    /// It has work in its hands, or is about to look for more.
    case working
    /// It has just run dry and stays awake for a moment.
    case lingering
    /// It was woken for nothing while work flows: it looks again by itself soon, so that nobody wakes it.
    case watching
    /// It sleeps until it is called, or its idle time is over.
    case parked
    /// It has found nothing more to do, and is about to end.
    case leaving
  }

  /// Who is to come.
  package enum Call: Hashable, Sendable {
    case nobody
    /// Wake the parked worker in this place.
    case wake(Int)
    /// Start a thread for this place.
    case start(Int)
  }

  /// What a worker does that has found nothing.
  package enum Rest: Hashable, Sendable {
    case linger, watch, park, end
  }

  /// The most threads.
  package let size: Int
  /// Whether workers end once nothing is left to do.
  package private(set) var isDraining = false
  /// How many threads there are, called ones included.
  package private(set) var threads = 0
  /// The most that there ever were.
  package private(set) var largest = 0
  /// How many are bound to look for work before they run anything.
  @usableFromInline package private(set) var searching = 0

  // The last to park is the first to be woken: its stack is warm, and the others reach the end of their idle time.
  private(set) var parked: [Int] = []
  private var states: [State] = []
  private var absent: [Int] = []
  private var hasLingerer = false
  private var hasWatcher = false
  private var leaving = 0

  package init(size: Int) { self.size = size }

  /// How many sleep until they are called.
  package var idle: Int { parked.count + (hasLingerer ? 1 : 0) + (hasWatcher ? 1 : 0) }

  /// Whether somebody lingers, who must be told of new work.
  var isLingering: Bool { hasLingerer }

  /// How many workers could be had for new work, without those who are about to have finished.
  var available: Int { searching + parked.count + size - threads }

  /// What the worker in a place does.
  package func state(of place: Int) -> State { place < states.count ? states[place] : .absent }

  /// Decides who is to come for `work` tasks that nobody runs. O(1).
  ///
  /// - Parameters:
  ///   - finishing: How many workers, among those that work, are bound to look before they run anything.
  ///   - growing: Whether a new thread is started for each task that no searching worker is left for.
  package mutating func call(forWork work: Int, finishing: @autoclosure () -> Int, growing: Bool) -> Call {
    if threads == size && parked.isEmpty { return .nobody }
    if searching >= work || (searching > 0 && (!growing || threads == size || !parked.isEmpty)) { return .nobody }
    return callSlowly(forWork: work, finishing: finishing(), growing: growing)
  }

  private mutating func callSlowly(forWork work: Int, finishing: Int, growing: Bool) -> Call {
    let coming = searching + finishing
    if let place = parked.last {
      guard work > 0, coming == 0 else { return .nobody }
      parked.removeLast()
      states[place] = .called
      searching += 1
      return .wake(place)
    }
    guard threads < size, growing ? work > coming : work > 0 && coming == 0 else { return .nobody }
    return .start(add())
  }

  private mutating func add() -> Int {
    let place = absent.popLast() ?? states.count
    if place == states.count { states.append(.called) } else { states[place] = .called }
    threads += 1
    largest = max(largest, threads)
    searching += 1
    return place
  }

  /// The system has no thread for a place that was to be started.
  package mutating func startFailed(_ place: Int) {
    searching -= 1
    threads -= 1
    states[place] = .absent
    absent.append(place)
  }

  /// A worker looks for work, from whatever it did before.
  package mutating func look(_ place: Int) {
    if states[place] != .working { lookSlowly(place) }
  }

  private mutating func lookSlowly(_ place: Int) {
    switch states[place] {
    case .called: searching -= 1
    case .lingering:
      searching -= 1
      hasLingerer = false
    case .watching:
      searching -= 1
      hasWatcher = false
    case .parked:
      // Its idle time is over, or the pool drains; from the bottom of the stack, where the longest idle are.
      if let index = parked.firstIndex(of: place) { parked.remove(at: index) }
    case .absent, .working, .leaving: break
    }
    states[place] = .working
  }

  /// A worker has looked and found nothing.
  ///
  /// - Parameters:
  ///   - mayLinger: Whether it comes from work, and this machine can run others meanwhile.
  ///   - flowing: Whether tasks have come since it looked before.
  ///   - expired: Whether its idle time is over.
  package mutating func rest(_ place: Int, mayLinger: Bool, flowing: Bool, expired: Bool) -> Rest {
    if isDraining || expired {
      states[place] = .leaving
      leaving += 1
      return .end
    }
    // Others have taken what came meanwhile, so they are quick: one hot worker is enough.
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

  /// A worker that was told to end is gone.
  package mutating func leave(_ place: Int) {
    leaving -= 1
    threads -= 1
    states[place] = .absent
    absent.append(place)
  }

  /// From now on workers end when they find nothing. Returns whom to wake for that.
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
