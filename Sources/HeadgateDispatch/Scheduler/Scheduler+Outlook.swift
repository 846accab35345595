// The outlook of a request, without submitting it. The answer may be outdated when it is read: to act, submit the
// request and check the result.

import HeadgateThreads

extension Scheduler {
  /// The result that a submission would have now.
  package enum Outlook: Hashable, Sendable {
    /// It would start at once.
    case runs
    /// It would wait. Its lane already has this number of requests waiting, of any priority.
    case waits(before: Int)
    case refused(Refusal)
  }

  /// The result that a submission would have. O(1).
  package func outlook(
    for endPoint: EndPoint, _ lane: RequestLane, priority: RequestPriority = .normal,
    at moment: Deadline = .distantPast, patience: Patience = .waits
  ) -> Outlook {
    guard closing == .open else { return .refused(.shutDown) }
    let record = endPoints.slot(of: endPoint).map { endPoints[$0] }
    let hasTotal = running < limits.total && (lane == .short || runningLong < limits.totalLong)
    if lane == .long, patience == .needsLongPlace, isLongLaneFull(at: endPoint) {
      return .refused(.longLaneFull)
    }
    let before = record?.waiting(lane) ?? 0
    let hasRoom = record?.hasPlace(for: lane) ?? !paused.contains(endPoint)
    if before == 0, hasTotal, hasRoom, !isTimed || isAwake(endPoint, at: max(now, moment)) { return .runs }
    guard waiting >= limits.waiting, limits.overflow != .wait else { return .waits(before: before) }
    return givesWay(priority, at: moment) ? .refused(.queueFull) : .waits(before: before)
  }

  /// Whether a request without weight could start as far as rates and pauses go, and the other lane's first request
  /// does not wait for them.
  private func isAwake(_ endPoint: EndPoint, at moment: Deadline) -> Bool {
    guard let scope = scopes.slot(of: .endPoint(endPoint)) else { return true }
    if scopes[scope].isFull(at: moment) || endPoints.slot(of: endPoint).map(isLearnedFull) ?? false
      || scopes[scope].earliest([:], at: moment).moment > moment
    {
      return false
    }
    return scopes[scope].wakeAt > moment.nanoseconds && !scopes[scope].hasCause
  }

  /// Whether a request that is one too many would itself be refused.
  private func givesWay(_ priority: RequestPriority, at moment: Deadline) -> Bool {
    let victim = shedding.first
    guard victim >= 0 else { return true }
    return shedding.rule == .lowest && nodes[victim].rank <= rank(of: max(lastAge + 1, moment.nanoseconds), priority)
  }

  /// The number of long requests that hold a permit of the end-point. O(1).
  package func runningLong(at endPoint: EndPoint) -> Int {
    endPoints.slot(of: endPoint).map { endPoints[$0].runningLong } ?? 0
  }
}
