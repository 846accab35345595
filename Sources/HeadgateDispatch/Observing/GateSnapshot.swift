import HeadgateThreads

/// What a gate was doing at one moment, end-point by end-point: for a person to read, or for a page that shows it.
///
///     print(dispatcher.gate.snapshot())
///
///     running 17 of 1024, waiting 37
///     end-point             running  long  waiting  oldest  limit
///     api.example.com:443         4     1       37   2.5 s  4 (2 long)
///     h2.example.com:443         12     0        0       -  100 (1 long, 2 connections)
///     cdn.example.com:443         1     0        0       -  6 (3 long), stopped by hand
public struct GateSnapshot: Sendable, Hashable, CustomStringConvertible {
  /// One end-point where something ran or waited, or that was stopped by hand.
  public struct Entry: Sendable, Hashable {
    /// Which one.
    public let endPoint: EndPoint
    /// Its limits.
    public let limits: EndPointLimits
    /// Permits held, short and long together.
    public let running: Int
    /// Long ones among them.
    public let runningLong: Int
    /// Requests that waited in its short lane.
    public let waitingShort: Int
    /// Requests that waited in its long lane.
    public let waitingLong: Int
    /// How long the oldest of those that waited had been there, since its first submission; nil where nobody waited.
    public let oldestWait: Duration?
    /// Whether it was stopped by hand.
    public let isPaused: Bool

    /// Requests that waited, in both lanes.
    public var waiting: Int { waitingShort + waitingLong }
  }

  /// The end-points, those with the most waiting first, then those with the most running, then by name.
  public let endPoints: [Entry]
  /// Permits held, over all end-points.
  public let running: Int
  /// Requests that waited, over all end-points.
  public let waiting: Int
  /// The total limit.
  public let total: Int

  init(_ endPoints: [Entry], running: Int, waiting: Int, total: Int) {
    self.endPoints = endPoints.sorted { left, right in
      if left.waiting != right.waiting { return left.waiting > right.waiting }
      if left.running != right.running { return left.running > right.running }
      return left.endPoint.description < right.endPoint.description
    }
    self.running = running
    self.waiting = waiting
    self.total = total
  }

  /// A table, one line for each end-point.
  public var description: String {
    let sum = "running \(running) of \(total), waiting \(waiting)"
    guard !endPoints.isEmpty else { return sum }
    let titles = ["end-point", "running", "long", "waiting", "oldest", "limit"]
    let rows = endPoints.map { entry in
      [
        entry.endPoint.description, "\(entry.running)", "\(entry.runningLong)", "\(entry.waiting)",
        entry.oldestWait?.words ?? "-",
        words(of: entry.limits) + (entry.isPaused ? ", stopped by hand" : ""),
      ]
    }
    let widths = titles.indices.map { column in ([titles] + rows).map { $0[column].count }.max() ?? 0 }
    let lines = ([titles] + rows).map { row in
      row.indices.map { column in
        let space = String(repeating: " ", count: widths[column] - row[column].count)
        return column == 0 ? row[column] + space : column == row.count - 1 ? row[column] : space + row[column]
      }
      .joined(separator: "  ")
    }
    return ([sum] + lines).joined(separator: "\n")
  }

  /// The sockets too where they are fewer than the requests.
  private func words(of limits: EndPointLimits) -> String {
    let sockets = limits.connections == limits.requests ? "" : ", \(limits.connections) connections"
    return "\(limits.requests) (\(limits.long) long\(sockets))"
  }
}

extension EndPointGate {
  /// What the gate is doing at this moment. O(n) in all that runs or waits, under the gate's lock.
  public func snapshot() -> GateSnapshot {
    let now = timers.now
    return state.withLock { $0.scheduler.snapshot(at: now) }
  }
}

extension Scheduler {
  package func snapshot(at moment: Deadline) -> GateSnapshot {
    let oldest = oldestAges()
    var entries = endPoints.busySlots.compactMap { slot -> GateSnapshot.Entry? in
      let record = endPoints[slot]
      guard let endPoint = record.endPoint else { return nil }
      return GateSnapshot.Entry(
        endPoint: endPoint, limits: record.limits, running: record.running, runningLong: record.runningLong,
        waitingShort: record.short.count, waitingLong: record.long.count,
        oldestWait: oldest[slot].map { max(.zero, moment - Deadline(nanoseconds: $0)) }, isPaused: record.isPaused)
    }
    for endPoint in paused where !isBusy(endPoint) {
      entries.append(
        GateSnapshot.Entry(
          endPoint: endPoint, limits: limits.of(endPoint), running: 0, runningLong: 0, waitingShort: 0, waitingLong: 0,
          oldestWait: nil, isPaused: true))
    }
    return GateSnapshot(entries, running: running, waiting: waiting, total: limits.total)
  }

  /// When the oldest of those that wait was submitted, by end-point. Not the first in line, who may just be more urgent.
  private func oldestAges() -> [Int32: UInt64] {
    guard waiting > 0 else { return [:] }
    var oldest: [Int32: UInt64] = [:]
    for place in nodes.nodes.indices where nodes.nodes[place].state == .waiting {
      let (endPoint, age) = (nodes.nodes[place].endPoint, nodes.nodes[place].age)
      oldest[endPoint] = min(age, oldest[endPoint] ?? .max)
    }
    return oldest
  }
}
