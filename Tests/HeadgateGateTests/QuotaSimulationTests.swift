import HeadgateTesting
import Testing

@testable import HeadgateGate

/// Lists of requests for servers that report what is left of their quota, in virtual time.
@Suite struct QuotaSimulationTests {
  /// The meaning of a server's `Reset`.
  enum Form: String, CaseIterable {
    /// No field is sent.
    case silent
    /// A sliding window: the time until the next slot frees, or until the window is empty.
    case nextSlot, emptyWindow
    /// A fixed window: the time until it ends.
    case fixed
    /// A token bucket: the time until the next token, until the bucket is full, or a constant.
    case nextToken, fullBucket, constant
  }

  /// How times are written.
  enum Rounding: CaseIterable {
    case exact, up, down

    func callAsFunction(_ seconds: Double) -> Double {
      switch self {
      case .exact: seconds
      case .up: seconds.rounded(.up)
      case .down: seconds.rounded(.down)
      }
    }
  }

  /// Accepts `most` requests in `window` seconds, and reports what is left.
  struct Server {
    enum Kind: Sendable { case sliding, fixed, bucket }
    let kind: Kind
    let form: Form
    let rounding: Rounding
    /// Whether a refusal has a `Retry-After`.
    var states = true
    let most: Int
    let window: Double
    var latency = 0.05
    private var starts: [Double] = []
    private var (tokens, last) = (0.0, -1.0)

    init(_ kind: Kind, _ form: Form, _ rounding: Rounding, most: Int, window: Double, states: Bool, latency: Double) {
      (self.kind, self.form, self.rounding, self.most, self.window) = (kind, form, rounding, most, window)
      (self.states, self.latency) = (states, latency)
    }

    /// Counts a request that arrives, and answers it.
    mutating func answer(at now: Double, using random: inout SeededRandom) -> VirtualRun.Answer {
      let seconds = latency * .random(in: 0.7...1.3, using: &random)
      let (left, next, reset) = count(at: now)
      var answer = VirtualRun.Answer(seconds: left < 0 ? 0.001 : seconds, status: left < 0 ? 429 : 200)
      if left < 0, states { answer.wait = .seconds(rounding(next)) }
      if form != .silent { answer.quota = (max(0, left), rounding(reset)) }
      return answer
    }

    /// What is left after a request, -1 if it is refused; the time until the next is accepted, and the reported one.
    private mutating func count(at now: Double) -> (left: Int, next: Double, reset: Double) {
      switch kind {
      case .sliding:
        starts.removeAll { $0 <= now - window }
        let accepts = starts.count < most
        if accepts { starts.append(now) }
        let next = starts[0] + window - now
        return (
          accepts ? most - starts.count : -1, next, form == .nextSlot ? next : starts[starts.count - 1] + window - now
        )
      case .fixed:
        // It begins with the first request in it.
        if let first = starts.first, first <= now - window { starts = [] }
        let accepts = starts.count < most
        if accepts { starts.append(now) }
        let end = starts[0] + window - now
        return (accepts ? most - starts.count : -1, end, end)
      case .bucket:
        let rate = Double(most) / window
        tokens = last < 0 ? Double(most) : min(Double(most), tokens + (now - last) * rate)
        last = now
        let accepts = tokens >= 1
        if accepts { tokens -= 1 }
        let next = max(0, 1 - tokens) / rate
        let reset: Double =
          switch form {
          case .nextToken: next
          case .constant: 2.0
          default: (Double(most) - tokens) / rate
          }
        return (accepts ? Int(tokens) : -1, next, reset)
      }
    }
  }

  private func run(_ server: Server, count: Int, at once: Int, seed: UInt64) throws -> VirtualRun {
    var (server, random) = (server, SeededRandom(seed: seed))
    var run = try VirtualRun(GateLimits(endPoint: EndPointLimits(requests: once), total: 100), seed: seed)
    run.serve(0..<count) { _, now in server.answer(at: now, using: &random) }
    #expect(run.served.count == count)
    return run
  }

  /// The refusals and the seconds of lists of five times `most`, at servers that differ in nothing but their fields.
  private func sum(_ kind: Server.Kind, _ form: Form, _ rounding: Rounding) throws -> (refused: Int, seconds: Double) {
    var sum = (refused: 0, seconds: 0.0)
    for (most, window) in [(20, 10.0), (60, 60)] {
      for (once, latency) in [(4, 0.05), (16, 0.05), (16, 1)] {
        for seed in 1...3 {
          let server = Server(kind, form, rounding, most: most, window: window, states: seed != 3, latency: latency)
          let run = try run(server, count: 5 * most, at: once, seed: UInt64(seed))
          sum.refused += run.refused.count
          sum.seconds += run.served.last?.second ?? .infinity
        }
      }
    }
    return sum
  }

  @Test(
    "fields bring no more refusals than none, and nearly the full rate, whatever their reset means",
    arguments: [
      (Server.Kind.sliding, [Form.nextSlot, .emptyWindow]), (.fixed, [.fixed]),
      (.bucket, [.nextToken, .fullBucket, .constant]),
    ])
  func fields(kind: Server.Kind, forms: [Form]) throws {
    let silent = try sum(kind, .silent, .exact)
    // The first `most` are served at once, and the others at the rate.
    let ideal = Double(3 * 3) * (4 * 10 + 4 * 60)
    for form in forms {
      for rounding in Rounding.allCases {
        let told = try sum(kind, form, rounding)
        #expect(told.refused <= silent.refused, "\(form) \(rounding): \(told.refused), silent \(silent.refused)")
        #expect(0.8 * told.seconds <= ideal, "\(form) \(rounding): \(told.seconds) s, ideal \(ideal)")
      }
    }
  }
}
