// What the scheduler lends, and how it takes it back: see Loan.swift.
//
// Lent permits count as used, whether anything runs on them or not, so that the limits hold whatever the loans do. They
// must not keep anybody waiting either: the driver calls a loan in before it submits or moves something to its
// end-point, and all loans before an event that `mustCallIn` is for, that asks about more than one request or that may
// start more than one on balance. Then a gate with loans decides all that a gate without them would have decided.

import HeadgateThreads

extension Scheduler {
  /// The most permits of one end-point that are lent. Whoever needs more has them decided here.
  static var mostLent: Int { 64 }

  /// Whether loans must be called in before another event of a single request: it could find the total used up by them.
  /// One that starts one more than it ends can't, as long as this was asked before.
  package var mustCallIn: Bool { lent > 0 && used >= limits.total }

  /// Whether an end-point's permits are on loan. O(1).
  // Mutating, although it changes nothing: else it would get a copy of the whole scheduler.
  package mutating func isLent(_ endPoint: EndPoint) -> Bool {
    guard lent > 0, let place = endPoints.slot(of: endPoint) else { return false }
    return endPoints[place].lent > 0
  }

  /// Whether an end-point is one whose permits may be lent: it was used before and rests, not crowded the last time. Whoever
  /// waits elsewhere waits for that end-point, or for the long half of the total, of which nothing is lent. O(1).
  package mutating func mayLend(_ endPoint: EndPoint) -> Bool {
    guard closing == .open, let place = endPoints.slot(of: endPoint), endPoints[place].isResting,
      !endPoints[place].isPaused
    else { return false }
    guard endPoints[place].wasCrowded else { return true }
    endPoints[place].wasCrowded = false
    return false
  }

  /// Whether the half of the total that loans may use has room for an end-point's permits. O(1).
  package mutating func hasRoomToLend(_ endPoint: EndPoint) -> Bool {
    guard let place = endPoints.slot(of: endPoint) else { return false }
    return used + min(endPoints[place].most, Self.mostLent) <= limits.total / 2
  }

  /// Lends an end-point's permits, if `mayLend` and `hasRoomToLend`. O(1).
  package mutating func lend(_ endPoint: EndPoint, to loan: inout Loan<Item>) {
    defer { checkInvariants() }
    let place = endPoints.take(endPoint, limits, paused: paused)
    let permits = min(endPoints[place].most, Self.mostLent)
    endPoints[place].lent = permits
    lent += permits
    loan.begin(
      endPoint, permits: permits, sockets: endPoints[place].limits.connections,
      multiplexes: endPoints[place].multiplexes)
  }

  /// Whether it knows a ticket of its own still.
  package mutating func knows(_ ticket: Ticket) -> Bool { nodes.slot(of: ticket) != nil }

  /// Calls a loan in: who runs on it runs here from now on, with the age that it has. O(those who run).
  ///
  /// - Parameter isCrowded: Whether that is because more came than the loan was for.
  package mutating func callIn(_ loan: inout Loan<Item>, isCrowded: Bool) {
    defer { checkInvariants() }
    guard let endPoint = loan.endPoint, let place = endPoints.slot(of: endPoint) else { return }
    if isCrowded { endPoints[place].wasCrowded = true }
    if loan.peak > peak.running { peak = (loan.peak, endPoint) }
    lent -= endPoints[place].lent
    endPoints[place].lent = 0
    loan.end { debt in
      let slot = nodes.insert(
        debt.item, .short, debt.priority, endPoint: place, age: debt.age, rank: rank(of: debt.age, debt.priority))
      nodes[slot].state = debt.isEnding ? .ending : .running
      nodes[slot].alias = debt.name
      count(place, .short)
      return nodes.ticket(slot)
    }
    restIfIdle(place)
  }
}
