import HTTPTypes
import HeadgateDispatch
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

/// Prompts for a language model whose provider limits requests and tokens in a minute, without any limit configured, in
/// virtual time. The provider states what is left; how many tokens an answer has is known when it ends.
@Suite struct ProviderSimulationTests {
  @Test(
    "of 500 prompts none is lost, and after the first minute at most 1 % are refused",
    arguments: Provider.Family.allCases, Provider.Window.allCases)
  func prompts(family: Provider.Family, window: Provider.Window) throws {
    for (requests, tokens) in [(100, 1_000_000), (1000, 50_000)] {
      for seed in 1...3 {
        var run = PromptRun(Provider(family, window, requests: requests, tokens: tokens), seed: UInt64(seed))
        try run.send(500)
        #expect(run.statuses == [200: 500], "\(run.statuses)")
        let late = run.refusals.filter { $0 > 60 }
        #expect(late.count <= 5, "\(requests) requests, \(tokens) tokens, seed \(seed): refused at \(run.refusals)")
      }
    }
  }
}

/// A provider that counts requests and tokens.
struct Provider {
  enum Family: CaseIterable { case openAI, anthropic }

  enum Window: CaseIterable {
    /// Both numbers are full again a minute after the first request.
    case fixed
    /// Both grow all the time.
    case bucket
  }

  private let family: Family
  private let window: Window
  private let most: (requests: Double, tokens: Double)
  private var left: (requests: Double, tokens: Double)
  private var last: Double?

  init(_ family: Family, _ window: Window, requests: Int, tokens: Int) {
    (self.family, self.window, most) = (family, window, (Double(requests), Double(tokens)))
    left = most
  }

  /// Counts a prompt that arrives. Returns how long it must wait, nil if it is served.
  mutating func refuses(_ prompt: Double, at now: Double) -> Double? {
    refill(at: now)
    guard left.requests < 1 || left.tokens < prompt else {
      left.requests -= 1
      left.tokens -= prompt
      return nil
    }
    if window == .fixed { return resets(at: now).requests }
    return max((1 - left.requests) * 60 / most.requests, (prompt - left.tokens) * 60 / most.tokens)
  }

  /// Counts the tokens of an answer, which may be more than are left.
  mutating func answered(_ tokens: Double, at now: Double) {
    refill(at: now)
    left.tokens -= tokens
  }

  private mutating func refill(at now: Double) {
    switch window {
    case .fixed:
      if let last, now - last < 60 { return }
      left = most
    case .bucket:
      let passed = now - (last ?? now)
      left.requests = min(most.requests, left.requests + passed * most.requests / 60)
      left.tokens = min(most.tokens, left.tokens + passed * most.tokens / 60)
    }
    last = now
  }

  /// When all is full again.
  private func resets(at now: Double) -> (requests: Double, tokens: Double) {
    if window == .fixed { return (60 - (now - (last ?? now)), 60 - (now - (last ?? now))) }
    return ((most.requests - left.requests) * 60 / most.requests, (most.tokens - left.tokens) * 60 / most.tokens)
  }

  /// What a response says, and how long a refused request has to wait.
  func fields(at now: Double, wait: Double?) -> HTTPFields {
    let resets = resets(at: now)
    let rows = [
      ("requests", Int(most.requests), max(0, Int(left.requests)), resets.requests),
      ("tokens", Int(most.tokens), max(0, Int(left.tokens)), resets.tokens),
    ]
    var values: [(String, String)] = [("Date", "Tue, 14 Nov 2023 \(Self.clock(now)) GMT")]
    for (unit, limit, left, reset) in rows {
      switch family {
      case .openAI:
        values += [
          ("x-ratelimit-limit-\(unit)", "\(limit)"), ("x-ratelimit-remaining-\(unit)", "\(left)"),
          ("x-ratelimit-reset-\(unit)", "\(Int(reset * 1000))ms"),
        ]
      case .anthropic:
        let prefix = "anthropic-ratelimit-\(unit)-"
        values += [
          (prefix + "limit", "\(limit)"), (prefix + "remaining", "\(left)"),
          (prefix + "reset", "2023-11-14T\(Self.clock(now + reset))Z"),
        ]
      }
    }
    if let wait {
      values.append(
        family == .openAI ? ("retry-after-ms", "\(Int(wait * 1000) + 1)") : ("retry-after", "\(Int(wait) + 1)"))
    }
    return HTTPFields(
      values.compactMap { name, value in HTTPField.Name(name).map { HTTPField(name: $0, value: value) } })
  }

  /// The time of day, in whole seconds.
  private static func clock(_ now: Double) -> String {
    let second = 12 * 3600 + Int(now)
    return [second / 3600, second / 60 % 60, second % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }
}

/// Prompts through a dispatcher to a provider.
private struct PromptRun {
  private struct Running {
    let exchange: ScriptedExchange
    let end: Double
    let wait: Double?
    let answer: Double
  }

  /// How many prompts ended with which status, 0 for a failure.
  private(set) var statuses: [Int: Int] = [:]
  private(set) var refusals: [Double] = []
  private var provider: Provider
  private var random: SeededRandom
  private var running: [Running] = []
  private var now = 0.0
  private static let step = 0.02

  init(_ provider: Provider, seed: UInt64) { (self.provider, random) = (provider, SeededRandom(seed: seed)) }

  mutating func send(_ count: Int) throws {
    let bench = try Bench(requests: EndPointLimits.standard.requests, pauses: PausePolicy(jitter: 0))
    let responses = Responses()
    for number in 0..<count {
      var request = try bench.request("/\(number)")
      request.method = .post
      request.retry = RetryPolicy(attempts: 4, budget: .none)
      bench.send(request, into: responses)
    }
    // An hour is more than any of them needs.
    while responses.count < count, now < 3600 {
      while let exchange = bench.transport.takeStarted() { arrived(exchange) }
      let ended = running.filter { $0.end <= now }
      running.removeAll { $0.end <= now }
      for one in ended { end(one) }
      bench.clock.advance(by: .milliseconds(20))
      now += Self.step
    }
    for response in responses.values { statuses[(try? response.get().statusCode) ?? 0, default: 0] += 1 }
    #expect(bench.isClean())
  }

  private mutating func arrived(_ exchange: ScriptedExchange) {
    let wait = provider.refuses(.random(in: 100...300, using: &random), at: now)
    if wait != nil { refusals.append(now) }
    let seconds = wait == nil ? Double.random(in: 0.3...0.9, using: &random) : 0
    running.append(
      Running(exchange: exchange, end: now + seconds, wait: wait, answer: .random(in: 100...500, using: &random)))
  }

  private mutating func end(_ one: Running) {
    if one.wait == nil { provider.answered(one.answer, at: now) }
    one.exchange.respond(one.wait == nil ? 200 : 429, provider.fields(at: now, wait: one.wait))
  }
}
