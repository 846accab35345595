// A short request that turns out to be a stream: the one event by which a running request changes its lane.

extension Scheduler {
  /// What became of a request that asks to go on as a long one.
  package enum Reclass: Sendable {
    /// It counts as a long one from here on.
    case moved
    /// It was long before.
    case stays
    /// The long lane has no place for it, counting those that wait for one: none is overtaken. It runs on as a short
    /// one.
    case refused
    /// It does not run: it waits, is ending or has ended.
    case gone
  }

  /// A running short request goes over to the long lane. Its permit stays; the long lane has a place less. Nothing
  /// becomes eligible by it, so nothing starts. O(1).
  package mutating func reclass(_ ticket: Ticket) -> Reclass {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running else { return .gone }
    guard nodes[slot].lane == .short else { return .stays }
    let place = nodes[slot].endPoint
    guard runningLong < limits.totalLong, !endPoints[place].isLongLaneFull else { return .refused }
    nodes[slot].lane = .long
    runningLong += 1
    endPoints[place].runningLong += 1
    // Those that wait in the long lane have a place there still, so no turn at the total comes or goes.
    return .moved
  }
}
