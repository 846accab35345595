import CHeadgate

/// How many looks a waiter takes before it sleeps. None on one processor: whoever it waits for can't run meanwhile.
enum SpinBudget {
  #if HEADGATE_EXPLORE
  static let lock = 0
  #else
  /// About one to two microseconds.
  static let lock = headgate_processors() > 1 ? 40 : 0
  #endif
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
