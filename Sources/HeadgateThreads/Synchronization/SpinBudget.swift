import CHeadgate

/// How many looks a waiter takes before it sleeps. None on one processor: whoever it waits for can't run meanwhile.
enum SpinBudget {
  /// For a lock: about one to two microseconds.
  static let lock = unlessAlone(40)

  /// For a thread that has ended and needs a few microseconds more to exit.
  static let threadExit = unlessAlone(200)

  /// Between two holds of a lock by one thread that goes through much in small pieces.
  static let sweepGap = unlessAlone(4)

  /// For a loop that had work just now, before it sleeps: about two microseconds.
  static let loop = unlessAlone(40)

  /// Looks of one pause each, for whoever waits at a queue: eight microseconds at most, as long as that pays
  /// (SpinPatience.swift). A sleeper costs its waker a few microseconds and comes back tens of microseconds later.
  static let queue = looks(within: 8000)

  /// Pauses before the first look of one who has caught up with a stream: long enough for a batch to come together.
  static let stream = looks(within: 800)

  /// How long a pool's last idle worker stays awake after work, in nanoseconds: as long as it takes to wake one.
  static let linger = Int64(unlessAlone(50_000))

  /// How long a pool's worker lets a stream of tasks gather before it takes them, in nanoseconds.
  static let gather = Int64(unlessAlone(2_000))

  /// How long who waits for a pool's task looks before it sleeps, in nanoseconds.
  static let task = Int64(unlessAlone(5_000))

  // Alone on the processor, nobody else could do what is waited for.
  private static func unlessAlone(_ count: Int) -> Int {
    #if HEADGATE_EXPLORE
    0
    #else
    headgate_processors() > 1 ? count : 0
    #endif
  }

  // A pause takes 10 to 140 cycles, as the processor's maker saw fit: measured once.
  private static func looks(within nanoseconds: UInt64) -> Int {
    guard unlessAlone(1) > 0 else { return 0 }
    let pauses: UInt64 = 32
    var shortest = UInt64.max
    // The shortest of a few: any of them may have been interrupted.
    for _ in 0..<4 {
      let start = Deadline.now
      for _ in 0..<pauses { spinPause() }
      shortest = min(shortest, UInt64(max(1, Deadline.now.nanoseconds(since: start))))
    }
    return Int(clamping: max(1, nanoseconds * pauses / shortest))
  }
}

/// Between two looks at a word that another thread is about to change.
@usableFromInline
func spinPause() {
  #if HEADGATE_EXPLORE
  Explored.by?.yield()
  #else
  headgate_pause()
  #endif
}
