import HeadgateThreads

@testable import HeadgateGate

// How long each request has waited, and for what.

extension LimiterExerciser {
  /// The causes of a wait add up to its length, to the nanosecond.
  func wrongSum(_ waited: WaitTimes, of entry: Known) -> String? {
    let length = Int64(now - entry.waitsSince)
    return waited.totalNanoseconds == length ? nil : "\(entry) waited \(length) ns, and is told \(waited)"
  }

  /// The waits so far, and the causes that hold now.
  func wrongWaits() -> String? {
    let moment = Deadline(nanoseconds: now)
    let waiting = known.values.filter { $0.stand == .waiting }
    for entry in waiting {
      if let broken = wrongSum(scheduler.waits(of: entry.ticket, at: moment), of: entry) { return broken }
    }
    guard let plain = waiting.filter({ $0.scopes.isEmpty && !$0.needsSocket }).min(by: { $0.age < $1.age }),
      let reason = scheduler.waitReason(of: plain.ticket, at: moment)
    else { return nil }
    let place = plain.endPoint
    // A pause may have ended without an event. The other causes depend on the request that is next.
    guard scheduler.wakeAt.map({ $0 > moment }) ?? true, [.stopped, .limit, .longLane].contains(reason.kind),
      let slot = scheduler.endPoints.slot(of: endPoints[place]),
      things[place].sleeps(at: scheduler.now.nanoseconds) == nil
    else { return nil }
    let book = scheduler.endPoints[slot].book
    guard book >= 0 else { return "a wait is not measured" }
    let cause = scheduler.endPoints.books[book].clocks[plain.lane].cause
    let isPast = [.paused, .unreachable].contains(WaitReason.Kind(cause))
    return isPast || WaitReason.Kind(cause) == reason.kind
      ? nil : "\(plain) waits for \(reason), and its time counts as \(WaitReason.Kind(cause))"
  }
}
