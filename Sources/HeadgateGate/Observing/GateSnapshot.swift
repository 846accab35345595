import HeadgateThreads

/// The state of a gate at one moment, by end-point: readable as text, and for display on a page.
///
///     print(gate.snapshot())
///
///     running 17 of 1024, waiting 40
///     end-point             running  long  waiting  oldest  limit                           waits for
///     api.example.com:443         4     1       37   2.5 s  4 (2 long)                      limit 4/4
///     cdn.example.com:443         0     0        3   1.0 s  6 (3 long), 1 refusal, 1 pause  paused 11.2 s by 429
///     h2.example.com:443         12     0        0       -  100 (1 long, 2 connections)     -
///     old.example.com:443         1     0        0       -  6 (3 long), stopped by hand     -
///     key acct-7                  2     -       12       -  2                               limit 2/2
public struct GateSnapshot: Sendable, Hashable, CustomStringConvertible {
  /// An end-point where a request ran or waited, that was stopped by ``EndPointGate/stop(_:)``, or that has refused
  /// requests. The gate forgets an idle end-point, with its counts, after a thousand others have become idle.
  public struct Entry: Sendable, Hashable {
    /// The end-point.
    public let endPoint: EndPoint
    /// The limits.
    public let limits: EndPointLimits
    /// The number of permits held, short and long together.
    public let running: Int
    /// The number of long requests among them.
    public let runningLong: Int
    /// The number of requests among them that wait for a permit that several programs share. See ``GateCoordinator``.
    public internal(set) var waitingShared = 0
    /// The number of requests that waited in the short lane.
    public let waitingShort: Int
    /// The number of requests that waited in the long lane.
    public let waitingLong: Int
    /// How long the oldest waiting request had waited since its first submission. Nil if no request waited.
    public let oldestWait: Duration?
    /// Whether the end-point was stopped by ``EndPointGate/stop(_:)``.
    public let isStopped: Bool
    /// Why the next request waited: the waiting request that would start first. Nil if no request waited.
    public let waitReason: WaitReason?

    /// The number of concurrent requests learned from refusals. Nil if nothing is learned.
    public let learnedRequests: Int?
    /// The number of starts in a second learned from refusals. Nil if no rate was refused.
    public let learnedRate: Double?

    /// How often it refused a request or was unavailable, as in ``GateCounts/refusals``.
    public let refusals: Int
    /// The number of its pauses, as in ``GateCounts/pauses``, with those of scopes that its responses caused.
    public let pauses: Int

    /// How long requests have waited there so far, all together, by what they waited for. Includes those that wait now,
    /// and a wait for a shared permit once it has ended. Bare permits count too.
    public let waited: WaitTimes

    /// Whether a request ran or waited there.
    public var isBusy: Bool { running + waiting > 0 }

    /// The number of requests that waited, in both lanes.
    public var waiting: Int { waitingShort + waitingLong }
  }

  /// A scope named by a request that ran or waited. See `DispatchRequest.scopes`.
  public struct ScopeEntry: Sendable, Hashable {
    /// The scope.
    public let scope: RequestScope
    /// The limits. Nil if it has none.
    public let limits: ScopeLimits?
    /// The number of requests that ran in the scope, at any end-point.
    public let running: Int
    /// The number of waiting requests that name the scope, for any reason.
    public let waiting: Int
    /// Why the first request that this scope kept from starting waited, or why nothing started in the scope. Nil if the
    /// scope delayed no request.
    public let waitReason: WaitReason?
  }

  /// The end-points: those with the most waiting requests first, then those with the most running ones, then by name.
  public private(set) var endPoints: [Entry]
  /// The scopes named by requests that ran or waited, in the order of ``endPoints``.
  public let scopes: [ScopeEntry]
  /// The number of permits held, at all end-points.
  public let running: Int
  /// The number of requests that waited, at all end-points.
  public let waiting: Int
  /// The total limit.
  public let total: Int
  /// How long requests have waited at all end-points so far, all together, as in ``Entry/waited``. Includes end-points
  /// that the gate has forgotten.
  public let waited: WaitTimes

  init(
    _ endPoints: [Entry], _ scopes: [ScopeEntry], running: Int, waiting: Int, total: Int, waited: WaitTimes
  ) {
    // Texts are created only to compare equal entries: there may be a hundred thousand.
    self.scopes = scopes.sorted { left, right in
      let (less, more) = ((-left.waiting, -left.running), (-right.waiting, -right.running))
      return less == more ? left.scope.description < right.scope.description : less < more
    }
    self.endPoints = endPoints.sorted { left, right in
      let (less, more) = ((-left.waiting, -left.running), (-right.waiting, -right.running))
      return less == more ? left.endPoint.description < right.endPoint.description : less < more
    }
    self.running = running
    self.waiting = waiting
    self.total = total
    self.waited = waited
  }

  /// A table with one line for each end-point and each scope.
  public var description: String {
    let sum = "running \(running) of \(total), waiting \(waiting)"
    guard !endPoints.isEmpty else { return sum }
    let titles = ["end-point", "running", "long", "waiting", "oldest", "limit", "waits for"]
    var rows = endPoints.map { entry in
      [
        entry.endPoint.description, "\(entry.running)", "\(entry.runningLong)", "\(entry.waiting)",
        entry.oldestWait?.words ?? "-",
        words(of: entry.limits) + learnedWords(of: entry) + (entry.isStopped ? ", stopped by hand" : "")
          + Self.words(entry.refusals, "refusal") + Self.words(entry.pauses, "pause")
          + (entry.waitingShared > 0 ? ", \(entry.waitingShared) waiting for shared permits" : ""),
        entry.waitReason?.description ?? "-",
      ]
    }
    rows += scopes.map { entry in
      // The first cell contains the scope's name, so the reason omits it.
      [
        entry.scope.description, "\(entry.running)", "-", "\(entry.waiting)", "-",
        entry.limits?.requests.map { "\($0)" } ?? "-", entry.waitReason?.wordsWithoutScope ?? "-",
      ]
    }
    let lines = TextTable.lines([titles] + rows, left: [0, titles.count - 2, titles.count - 1])
    return ([sum] + lines).joined(separator: "\n")
  }

  /// Adds the numbers of requests that wait for shared permits.
  mutating func add(waitingShared: [EndPoint: Int]) {
    for index in endPoints.indices { endPoints[index].waitingShared = waitingShared[endPoints[index].endPoint] ?? 0 }
  }

  private static func words(_ count: Int, _ noun: String) -> String {
    count == 0 ? "" : ", \(count) \(noun)\(count == 1 ? "" : "s")"
  }

  /// The learned limits that are below the configured ones.
  private func learnedWords(of entry: Entry) -> String {
    let requests = entry.learnedRequests.flatMap { $0 < entry.limits.requests ? "\($0)" : nil }
    let known = [requests, entry.learnedRate.map(AdaptiveLimit.words)].compactMap { $0 }
    return known.isEmpty ? "" : ", learned \(known.joined(separator: " and "))"
  }

  /// Mentions the sockets if there are fewer sockets than requests.
  private func words(of limits: EndPointLimits) -> String {
    let sockets = limits.connections == limits.requests ? "" : ", \(limits.connections) connections"
    return "\(limits.requests) (\(limits.long) long\(sockets))"
  }
}

extension EndPointGate {
  /// The state of the gate now. O(n) in all requests that run or wait, under the gate's lock.
  public func snapshot() -> GateSnapshot {
    let now = timers.now
    var snapshot = state.withLock { $0.scheduler.snapshot(at: now) }
    if let shared { snapshot.add(waitingShared: shared.waiting) }
    return snapshot
  }
}

extension Scheduler {
  package func snapshot(at moment: Deadline) -> GateSnapshot {
    let first = firstInLine()
    let waits = allWaits(at: max(moment, now))
    var entries = endPoints.toldSlots.map { slot in
      let record = endPoints[slot]
      return GateSnapshot.Entry(
        endPoint: record.endPoint, limits: record.limits, running: record.running, runningLong: record.runningLong,
        waitingShort: record.waiting(.short), waitingLong: record.waiting(.long),
        oldestWait: first[slot].map { max(.zero, moment - Deadline(nanoseconds: $0.oldest)) },
        isStopped: record.isStopped,
        waitReason: first[slot].map { reason(of: $0.next, ahead: 0, at: max(moment, now)) },
        learnedRequests: learnedRequests(slot),
        learnedRate: record.scope < 0 ? nil : scopes[record.scope].learning.first?.rate,
        refusals: record.troubles.refusals, pauses: record.troubles.pauses,
        waited: WaitTimes(waits.places[slot] ?? pastWaits(at: slot)))
    }
    let told = Set(entries.map(\.endPoint))
    for endPoint in stopped where !told.contains(endPoint) {
      entries.append(
        GateSnapshot.Entry(
          endPoint: endPoint, limits: limits.of(endPoint), running: 0, runningLong: 0, waitingShort: 0, waitingLong: 0,
          oldestWait: nil, isStopped: true, waitReason: nil, learnedRequests: nil, learnedRate: nil,
          refusals: 0, pauses: 0,
          waited: WaitTimes(endPoints.slot(of: endPoint).map { pastWaits(at: $0) } ?? WaitSums())))
    }
    return GateSnapshot(
      entries, namedScopes(at: max(moment, now)), running: running, waiting: waiting, total: limits.total,
      waited: WaitTimes(waits.all))
  }

  private func namedScopes(at moment: Deadline) -> [GateSnapshot.ScopeEntry] {
    guard !scopes.isEmpty else { return [] }
    var waiting: [Int32: Int] = [:]
    for node in nodes.nodes where node.state == .waiting && node.demand >= 0 {
      for scope in demands[node.demand].scopes { waiting[scope, default: 0] += 1 }
    }
    return scopes.all.compactMap { scope in
      guard let name = scopes[scope].scope, scopes[scope].users > 0 else { return nil }
      let first = scopes[scope].blocked.first.map { self.first(ofGroup: $0.place) }
      return GateSnapshot.ScopeEntry(
        scope: name, limits: limits.scopes[name], running: scopes[scope].running, waiting: waiting[scope] ?? 0,
        waitReason: first.flatMap { reason(in: scope, $0, ahead: 0, at: moment) } ?? sleepReason(scope, at: moment))
    }
  }

  /// By end-point: the waiting request with the lowest rank, and the submission time of the oldest one, which is another
  /// one if the first in line is only more urgent.
  private func firstInLine() -> [Int32: (next: Int32, oldest: UInt64)] {
    var first: [Int32: (next: Int32, oldest: UInt64)] = [:]
    for slot in nodes.nodes.indices.lazy.map({ Int32($0) }) where nodes[slot].state == .waiting {
      let known = first[nodes[slot].endPoint] ?? (slot, nodes[slot].age)
      first[nodes[slot].endPoint] = (
        isBefore(known.next, slot) ? known.next : slot, min(known.oldest, nodes[slot].age)
      )
    }
    return first
  }
}
