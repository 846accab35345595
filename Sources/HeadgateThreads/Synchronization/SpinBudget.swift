import CHeadgate

/// How many looks a waiter takes before it sleeps. None on one processor: whoever it waits for can't run meanwhile.
enum SpinBudget {
  /// About one to two microseconds.
  static let lock = looks(40)
  /// For a thread that has said it is done and has its last instructions before it.
  static let threadExit = looks(200)

  private static func looks(_ count: Int) -> Int {
    #if HEADGATE_EXPLORE
    0
    #else
    headgate_processors() > 1 ? count : 0
    #endif
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
