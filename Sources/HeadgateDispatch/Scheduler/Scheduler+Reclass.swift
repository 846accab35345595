// The move of a running request to the long lane, for a short request that turns out to be a stream.

extension Scheduler {
  /// The result of a move to the long lane.
  package enum Reclass: Sendable {
    /// It counts as a long request from now on.
    case moved
    /// It was already long.
    case stays
    /// The long lane has no place, counting the requests that wait for one: none is overtaken. It continues as a short
    /// request.
    case refused
    /// It does not run: it waits, is ending or has ended.
    case gone
  }

  /// Moves a running short request to the long lane. It keeps its permit, and the long lane has one place less. No
  /// request becomes eligible, so none starts. O(1).
  package mutating func reclass(_ ticket: Ticket) -> Reclass {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running else { return .gone }
    guard nodes[slot].lane == .short else { return .stays }
    let place = nodes[slot].endPoint
    guard runningLong < limits.totalLong, !endPoints[place].isLongLaneFull else { return .refused }
    nodes[slot].lane = .long
    runningLong += 1
    endPoints[place].runningLong += 1
    // Requests that wait in the long lane still have a place there, so no turn at the total limit changes.
    return .moved
  }
}
