import CHeadgate

/// How long a waiter spins before it sleeps. Zero on a single processor, where the thread that it waits for cannot run
/// meanwhile.
enum SpinBudget {
  /// For a lock, in pauses: about one to two microseconds.
  static let lock = unlessAlone(40)

  /// For a thread that has ended its work and needs a few more microseconds to exit.
  static let threadExit = unlessAlone(200)

  /// For a loop that has just had work, before it sleeps: about two microseconds.
  static let loop = unlessAlone(40)

  /// For a waiter at a queue, in pauses: at most eight microseconds, and only while that pays off (AdaptiveSpin.swift).
  /// A sleeping thread costs its waker a few microseconds and resumes tens of microseconds later.
  static let queue = looks(within: 8000)

  /// Pauses before the first check by a consumer that has caught up with a stream: long enough for a batch to
  /// accumulate.
  static let stream = looks(within: 800)

  /// How long a pool's last idle worker stays awake after work, in nanoseconds: about as long as a wake-up takes.
  static let linger = Int64(unlessAlone(50_000))

  /// How long a pool's worker lets a stream of tasks accumulate before it takes them, in nanoseconds.
  static let gather = Int64(unlessAlone(2_000))

  /// How long a waiter for a pool's task spins before it sleeps, in nanoseconds.
  static let task = Int64(unlessAlone(5_000))

  // On a single processor no other thread can make progress while this one spins.
  private static func unlessAlone(_ count: Int) -> Int {
    #if HEADGATE_EXPLORE
    // One check, which succeeds or gives up. More checks find nothing new under the explorer and multiply its steps.
    1
    #else
    min(headgate_processors(), headgate_processor_share()) > 1 ? count : 0
    #endif
  }

  // A pause takes 10 to 140 cycles, depending on the processor, so it is measured once.
  private static func looks(within nanoseconds: UInt64) -> Int {
    guard unlessAlone(2) > 1 else { return unlessAlone(1) }
    let pauses: UInt64 = 32
    var shortest = UInt64.max
    // The minimum of several runs, because any of them may be interrupted.
    for _ in 0..<4 {
      let start = Deadline.now
      for _ in 0..<pauses { spinPause() }
      shortest = min(shortest, UInt64(max(1, Deadline.now.nanoseconds(since: start))))
    }
    return Int(clamping: max(1, nanoseconds * pauses / shortest))
  }
}

/// The body of a spin loop, between two checks of a word that another thread is about to change.
package func spinPause() { headgate_pause() }
