import HeadgateThreads

@testable import HeadgateGate

// The reasons by which each request waits, according to the rules.

extension LimiterExerciser {
  func wrongReason() -> String? {
    // The same one in each process, whatever the order of the dictionary.
    let waiting = known.filter { $0.value.stand == .waiting }
    guard let entry = waiting.min(by: { ($0.value.age % 7, $0.key) < ($1.value.age % 7, $1.key) })?.value else {
      return nil
    }
    let moment = Deadline(nanoseconds: now)
    guard let reason = scheduler.waitReason(of: entry.ticket, at: moment) else { return "no reason is told" }
    let ahead = known.values.count(where: { $0.stand == .waiting && isSameQueue($0, entry) && isBefore($0, entry) })
    if reason.ahead != ahead { return "\(reason.ahead) are said to be ahead, and \(ahead) are" }
    let all = reasons(for: entry)
    if reason.cause == .turn {
      // A request of another line precedes it in that scope. No earlier limit delays it.
      let isFirst =
        reason.scope == nil
        ? all.allSatisfy { entry.needsSocket && isAfterSockets($0) }
        : all.allSatisfy { isAfter($0.scope, reason.scope, entry) }
      return isFirst ? nil : "it waits for \(all), and is told \(reason)"
    }
    let expected = all.first
    return reason.cause == expected?.cause && reason.scope == expected?.scope && reason.until == expected?.until
      ? nil : "\(entry) waits for \(expected as Any), and is told \(reason)"
  }

  /// Whether a limit is checked after a scope.
  private func isAfter(_ scope: RequestScope?, _ other: RequestScope?, _ entry: Known) -> Bool {
    let order = entry.scopes.map { names[$0] }
    guard let other, let place = order.firstIndex(of: other) else { return false }
    guard let scope else { return true }
    return (order.firstIndex(of: scope) ?? -1) > place
  }

  /// Whether a limit is checked after the sockets of an end-point.
  private func isAfterSockets(_ reason: WaitReason) -> Bool {
    switch reason.cause {
    case .start, .total, .totalLong: reason.scope == nil
    default: false
    }
  }

  /// All of its reasons, in the order in which they are reported.
  private func reasons(for entry: Known) -> [WaitReason] {
    let place = entry.endPoint
    let moment = Deadline(nanoseconds: now)
    var all: [WaitReason] = []
    func add(_ cause: WaitReason.Cause, _ scope: RequestScope? = nil, _ until: UInt64? = nil) {
      all.append(WaitReason(cause, scope: scope, until: until.map { Deadline(nanoseconds: $0) }, at: moment))
    }
    if stopped.contains(place) { add(.stopped) }
    if let (cause, until) = things[place].sleeps(at: now) { add(cause, nil, until) }
    if let cause = recovers(place) { add(cause) }
    let (count, most, mostLong) = (running(in: place), most(place), self.mostLong(place))
    if count >= most { add(.limit(count, of: most)) }
    let long = running { $0.endPoint == place && $0.lane == .long }
    if entry.lane == .long, long >= mostLong { add(.longLane(long, of: mostLong)) }
    for scope in entry.scopes {
      let thing = scope + Self.endPointCount
      if let (cause, until) = things[thing].sleeps(at: now) { add(cause, names[scope], until) }
      if let cause = recovers(thing) { add(cause, names[scope]) }
      let count = running(in: thing)
      if count >= things[thing].most { add(.limit(count, of: things[thing].most), names[scope]) }
      if let (until, cause) = things[thing].next(entry.weights, at: now) { add(.start(cause), names[scope], until) }
    }
    let (own, mostOwn) = (running(in: entry.sockets), mostWithSocket(place))
    if entry.needsSocket, own >= mostOwn { add(.sockets(own, of: mostOwn)) }
    if let (until, cause) = things[place].next(entry.weights, at: now) { add(.start(cause), nil, until) }
    let total = running { _ in true }
    if total >= limits.total { add(.total(total, of: limits.total)) }
    let totalLong = running { $0.lane == .long }
    if entry.lane == .long, totalLong >= limits.totalLong { add(.totalLong(totalLong, of: limits.totalLong)) }
    return all
  }
}
