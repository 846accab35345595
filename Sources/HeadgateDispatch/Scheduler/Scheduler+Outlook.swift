// What a request would meet, without submitting it. Old when it is read: whoever acts on it submits, and looks again at
// what comes of that.

extension Scheduler {
  /// What a submission would come to at this moment.
  package enum Outlook: Hashable, Sendable {
    /// It would start at once.
    case runs
    /// It would wait behind so many of its lane.
    case waits(before: Int)
    case refused(Refusal)
  }

  /// What a submission would come to. O(1).
  package func outlook(for endPoint: EndPoint, _ requestClass: RequestClass, patience: Patience = .waits) -> Outlook {
    guard closing == .open else { return .refused(.shutDown) }
    let record = endPoints.slot(of: endPoint).map { endPoints[$0] }
    let hasTotal = running < limits.total && (requestClass == .short || runningLong < limits.totalLong)
    if requestClass == .long, patience == .needsLongPlace, isLongLaneFull(at: endPoint) {
      return .refused(.longLaneFull)
    }
    let before = record?[lane: requestClass].count ?? 0
    if before == 0, hasTotal, record?.hasRoom(for: requestClass) ?? true { return .runs }
    return waiting >= limits.waiting && limits.overflow == .refuse ? .refused(.queueFull) : .waits(before: before)
  }

  /// Long requests that hold a permit of the end-point. O(1).
  package func runningLong(at endPoint: EndPoint) -> Int {
    endPoints.slot(of: endPoint).map { endPoints[$0].runningLong } ?? 0
  }
}
