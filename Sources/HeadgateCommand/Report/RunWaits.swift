import HeadgateDispatch
import HeadgateThreads

/// What the requests of a run waited for, in the line above the summary:
///
///     waited 51 min 3 s: 62 % rate 10/s, 30 % limit 4/4, 8 % pauses
///     waited 3 min 20 s: 100 % limit 4/4; --per-host 8 would help
struct RunWaits: Sendable {
  /// A host for whose requests there were waits.
  private struct Host: Sendable {
    var waited = WaitTimes()
    var hasFailed = false
    var answers = AnswerTrend()
  }

  /// A run with more hosts has no numbers of single hosts.
  private static let mostHosts = 1_000

  private(set) var waited = WaitTimes()
  private var ran = Duration.zero
  private var hosts: [EndPoint: Host] = [:]
  private var hasOthers = false
  /// Whether a request was redirected to another host. Where it waited is not known.
  private var hasRedirects = false

  // MARK: Requests

  /// A request was answered, after redirects by the last end-point.
  mutating func add(_ times: DispatchTimes, at endPoint: EndPoint, answeredBy last: EndPoint? = nil) {
    let exchange = times.exchange
    let began = max(exchange.name, exchange.connect, exchange.tls)
    add(times.waited, ran: max(.zero, times.total - times.queued), at: endPoint, last ?? endPoint) {
      $0.answers.add(max(.zero, exchange.firstByte - began).inSeconds)
    }
  }

  /// A request failed.
  mutating func add(_ error: DispatchError, at endPoint: EndPoint) {
    add(error.waitTimes, ran: error.ran, at: endPoint, error.endPoint ?? endPoint) { $0.hasFailed = true }
  }

  private mutating func add(
    _ times: WaitTimes, ran time: Duration, at first: EndPoint, _ last: EndPoint, _ change: (inout Host) -> Void
  ) {
    waited += times
    ran += time
    count(times, at: last, change)
    guard first != last else { return }
    hasRedirects = true
    count(times, at: first) { _ in }
  }

  private mutating func count(_ times: WaitTimes, at endPoint: EndPoint, _ change: (inout Host) -> Void) {
    guard hosts[endPoint] != nil || hosts.count < Self.mostHosts else { return hasOthers = true }
    hosts[endPoint, default: Host()].waited += times
    change(&hosts[endPoint, default: Host()])
  }

  // MARK: The line

  /// The line. Nil unless the run took ten seconds and its requests waited for longer than they ran.
  ///
  /// - Parameter hadTrouble: Whether a server has refused a request, or was paused.
  func line(after elapsed: Duration, _ limits: GateLimits, hadTrouble: Bool) -> String? {
    guard elapsed >= .seconds(10), waited.total > ran else { return nil }
    let all = waited.total.inSeconds
    let parts = waited.all.map { (part: $0, percent: Int(($0.duration.inSeconds / all * 100).rounded())) }
    let shown = parts.filter { $0.percent > 0 }.map { "\($0.percent) % \(words(for: $0.part.kind, limits))" }
    let advice = hadTrouble ? nil : advice(limits)
    return "waited \(Amount.seconds(all)): \(shown.joined(separator: ", "))"
      + (advice.map { "; \($0) would help" } ?? "")
  }

  private func words(for kind: WaitReason.Kind, _ limits: GateLimits) -> String {
    switch kind {
    case .limit: number(for: kind, limits) { "\(limits.of($0).requests)" }.map { "limit \($0)/\($0)" } ?? "limit"
    case .total: "total \(limits.total)/\(limits.total)"
    case .rate: rates(limits).map { "rate \($0)" } ?? "rate"
    case .longLane: "long lane"
    case .socket: "connections"
    case .scope: "limits of groups"
    case .budget: "budgets"
    case .quota: "quotas of servers"
    case .paused: "pauses"
    case .unreachable: "unreachable hosts"
    case .recovering: "recovery after pauses"
    case .stopped: "stopped hosts"
    case .shared: "shared permits"
    case .turn: "turns"
    default: kind.description
    }
  }

  /// What is set for all hosts whose requests waited for this. Nil if it is not the same everywhere, or not set, or if
  /// they may have waited for another number, which was learned.
  private func number(for kind: WaitReason.Kind, _ limits: GateLimits, _ text: (EndPoint) -> String) -> String? {
    let all = Set(hosts.filter { $0.value.waited[kind] > .zero }.map { text($0.key) })
    guard all.count == 1, !hasOthers, limits.adaptive == nil, let first = all.first, !first.isEmpty else { return nil }
    return first
  }

  /// The rates that are set for all hosts whose requests waited for rates. Nil as above, and if groups have rates too.
  private func rates(_ limits: GateLimits) -> String? {
    guard limits.scopes.values.allSatisfy(\.rates.isEmpty) else { return nil }
    return number(for: .rate, limits) { limits.of($0).rates.map(\.description).joined(separator: " and ") }
  }

  /// A higher limit is advised only if the run proves that it helps: at least 90 % of all waiting was for the limit of
  /// one host; that limit was set by the user or is the usual one, and nothing was learned; no server has refused a
  /// request or was paused; no request was redirected to another host; no request to the host has failed; and of at
  /// least 40 answers of that host, the second half took it at most 10 % longer on average than the first half.
  private func advice(_ limits: GateLimits) -> String? {
    guard limits.adaptive == nil, !hasRedirects,
      let (endPoint, host) = hosts.max(by: { $0.value.waited.total < $1.value.waited.total }),
      host.waited[.limit] >= waited.total / 10 * 9, !host.hasFailed, host.answers.isSteady
    else { return nil }
    let (own, common) = (limits.of(endPoint).requests, limits.endPoint.requests)
    guard own * 2 <= limits.total else { return nil }
    return own == common ? "--per-host \(own * 2)" : "--limit \(endPoint)=\(own * 2)"
  }
}

extension RunWaits {
  /// Adds what has become of a URL.
  mutating func add(_ outcome: FetchOutcome, of request: DispatchRequest) {
    switch outcome {
    case .received(let answer, _), .checked(let answer), .unchanged(let answer, _), .refused(let answer):
      guard let times = answer.times else { break }
      add(times, at: request.endPoint, answeredBy: request.endPoint(answering: answer.url))
    case .failed(let error, _): add(error, at: request.endPoint)
    case .complete, .mismatched, .unknown, .outputFailed: break
    }
  }
}

extension DispatchRequest {
  /// The end-point that answered it, from the URL of the answer.
  func endPoint(answering answered: String) -> EndPoint? { answered == url ? endPoint : try? EndPoint(answered) }
}

/// Whether a server answers as fast at the end of a run as at its beginning. Takes the same memory for any number of
/// answers: it keeps the sums of at most 16 parts of equal length, and makes them twice as long when all are full.
struct AnswerTrend: Sendable {
  private static let mostParts = 16
  private static let fewest = 40

  private var sums: [Double] = []
  private var length = 1
  private var lengthOfLast = 0
  private var count = 0

  /// The next answer, and how long the server took for it.
  mutating func add(_ seconds: Double) {
    if sums.isEmpty || lengthOfLast == length {
      if sums.count == Self.mostParts {
        sums = stride(from: 0, to: sums.count, by: 2).map { sums[$0] + sums[$0 + 1] }
        length *= 2
      }
      sums.append(0)
      lengthOfLast = 0
    }
    sums[sums.count - 1] += seconds
    lengthOfLast += 1
    count += 1
  }

  /// Whether there were enough answers, and the second half of them took at most a tenth longer than the first half.
  var isSteady: Bool {
    let half = (lengthOfLast == length ? sums.count : sums.count - 1) / 2
    guard count >= Self.fewest, half > 0 else { return false }
    let (first, second) = (sums[..<half].reduce(0, +), sums[half..<2 * half].reduce(0, +))
    return second <= first * 1.1
  }
}

extension JSONLine {
  /// Adds the seconds of waiting by their causes, the longest first. Nothing if there was no millisecond of it.
  mutating func add(waited times: WaitTimes) {
    guard times.total >= .milliseconds(1) else { return }
    var object = JSONLine()
    for (kind, duration) in times.all { object.add(kind.description, seconds: duration.inSeconds) }
    add("waited", object)
  }
}
