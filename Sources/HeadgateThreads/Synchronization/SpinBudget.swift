import CHeadgate

/// How many looks a waiter takes before it sleeps. None on one processor: whoever it waits for can't run meanwhile.
enum SpinBudget {
  /// About one to two microseconds.
  static let lock = headgate_processors() > 1 ? 40 : 0
}
