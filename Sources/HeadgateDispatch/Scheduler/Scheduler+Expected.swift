// What the scheduler expects: requests that are elsewhere for a while, with no permit and no place in a queue, and were
// promised that they may come back. Others give a promise only while the scheduler is open.

extension Scheduler {
  /// An item will come later, as `expected`, or be forgotten by `forgetExpected`. O(1).
  ///
  /// - Parameter wasHere: Whether it is known already, because it holds a permit: then it is expected while the scheduler
  ///   drains as well.
  /// - Returns: False if it closes: nothing is expected then.
  package mutating func expect(wasHere: Bool) -> Bool {
    guard closing == .open || wasHere && closing == .draining else { return false }
    expected += 1
    return true
  }

  /// One that was expected will not come. O(1).
  package mutating func forgetExpected() {
    defer { checkInvariants() }
    expected -= 1
  }

  /// Whether what comes may come, as far as closing is concerned.
  mutating func admit(_ admission: Admission) -> Bool {
    switch admission {
    case .new, .returning: return closing == .open
    case .onBehalf: return closing == .open || closing == .draining && expected > 0
    case .expected:
      expected -= 1
      return closing < .ending
    }
  }
}

extension Scheduler.Admission {
  /// The age that it has, where that is not the present.
  var age: UInt64? {
    switch self {
    case .new: nil
    case .returning(let age), .expected(let age, _), .onBehalf(let age): age
    }
  }

  /// Whether the bound on what waits was held against it before.
  var wasAccepted: Bool {
    switch self {
    case .new, .onBehalf: false
    case .returning: true
    case .expected(_, let wasAccepted): wasAccepted
    }
  }
}
