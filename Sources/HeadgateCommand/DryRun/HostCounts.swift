import HeadgateDispatch
import HeadgateThreads

/// Counts the URLs that would be requested from each host.
struct HostCounts {
  private var counts: [EndPoint: Int] = [:]

  var count: Int { counts.count }
  var total: Int { counts.values.reduce(0, +) }

  mutating func add(_ endPoint: EndPoint) { counts[endPoint, default: 0] += 1 }

  /// A line for each host with its limits, sorted by the number of URLs, the largest first.
  ///
  /// - Parameters:
  ///   - sparesLoopback: Whether the spacing of starts does not apply to this machine.
  ///   - noun: What is counted.
  func lines(_ limits: GateLimits, sparesLoopback: Bool, of noun: String = "URL") -> [String] {
    let hosts = counts.sorted { ($1.value, $0.key.description) < ($0.value, $1.key.description) }
    return hosts.map { endPoint, count in
      let limits = limits.of(endPoint)
      var parts = ["at most \(limits.requests) at once"] + limits.rates.map { "\($0)" }
      let isSpared = sparesLoopback && endPoint.isLoopback && limits.rates.isEmpty
      if limits.minimumInterval > .zero, !isSpared { parts.append("\(Self.text(limits.minimumInterval)) apart") }
      return "\(endPoint): \(count == 1 ? "1 \(noun)" : "\(count) \(noun)s"), \(parts.joined(separator: ", "))"
    }
  }

  /// The line on a group, with its limits.
  func line(of group: HostGroups.Group, _ noun: String = "URL") -> String {
    let members = counts.filter { group.contains($0.key) }
    guard !members.isEmpty else { return group.remark }
    let urls = members.values.reduce(0, +)
    let requests = group.limits.requests.map { ["at most \($0) at once"] } ?? []
    return "group \(group.name): \(members.count == 1 ? "1 host" : "\(members.count) hosts"), "
      + "\(urls == 1 ? "1 \(noun)" : "\(urls) \(noun)s"), "
      + (requests + group.limits.rates.map { "\($0)" }).joined(separator: ", ")
  }

  private static func text(_ interval: Duration) -> String {
    interval < .seconds(1) ? "\(Amount.fixed(interval.inSeconds * 1000, 0)) ms" : Amount.seconds(interval.inSeconds)
  }
}
