// Expected requests: they are elsewhere for a while, without a permit or a place in a queue, and may return. New ones
// are accepted only while the scheduler is open.

extension Scheduler {
  /// Announces an item that will be submitted later as `expected`, or withdrawn by `forgetExpected`. O(1).
  ///
  /// - Parameter wasHere: Whether it is known already, because it holds a permit. If so, it is also expected while the
  ///   scheduler drains.
  /// - Returns: False if the scheduler closes: then the item is not expected.
  package mutating func expect(wasHere: Bool) -> Bool {
    guard closing == .open || wasHere && closing == .draining else { return false }
    expected += 1
    return true
  }

  /// An expected item will not come. O(1).
  package mutating func forgetExpected() {
    defer { checkInvariants() }
    expected -= 1
  }

  /// Whether an item may be admitted as far as closing is concerned.
  mutating func admit(_ admission: Admission) -> Bool {
    switch admission.kind {
    case .new, .returning: return closing == .open
    case .onBehalf: return closing == .open || closing == .draining && expected > 0
    case .expected:
      expected -= 1
      return closing < .ending
    }
  }
}
