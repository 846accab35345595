import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

/// Lists of requests for servers with limits, from the first refusal to the last answer, in virtual time.
@Suite struct RecoveryPaceTests {
  /// A server that refuses requests above its limit.
  private enum Server {
    /// nginx's `limit_req` with `nodelay`: a rate per second, and a burst beyond it.
    case leaky(rate: Double, burst: Double, excess: Double = 0, last: Double = -1, wait: Double)
    /// A number of requests in each fixed window, which begins with the clock's.
    case fixed(most: Int, window: Double, number: Int = -1, count: Int = 0)

    /// The wait that it asks for. Nil: it serves the request.
    mutating func refuses(at now: Double) -> Double? {
      switch self {
      case .leaky(let rate, let burst, let excess, let last, let wait):
        let next = last < 0 ? 0 : max(0, excess - (now - last) * rate + 1)
        guard next <= burst else { return wait }
        self = .leaky(rate: rate, burst: burst, excess: next, last: now, wait: wait)
        return nil
      case .fixed(let most, let window, let number, let count):
        let current = Int((now + window / 3) / window)
        let used = current == number ? count : 0
        guard used < most else { return Double(current + 1) * window - window / 3 - now }
        self = .fixed(most: most, window: window, number: current, count: used + 1)
        return nil
      }
    }
  }

  /// 500 requests, 16 at once, each repeated until it is served.
  private func run(_ server: Server, seed: UInt64) throws -> VirtualRun {
    var (server, random) = (server, SeededRandom(seed: seed))
    var run = try VirtualRun(GateLimits(endPoint: EndPointLimits(requests: 16), total: 100), seed: seed)
    run.serve(0..<500) { _, now in
      let wait = server.refuses(at: now)
      return VirtualRun.Answer(
        seconds: .random(in: 0.0005...0.002, using: &random), status: wait == nil ? 200 : 429,
        wait: wait.map { .seconds($0) })
    }
    #expect(run.served.count == 500 && run.scheduler.isEmpty)
    #expect(run.refused.count <= 16 + 2 * (run.sleeps.count - 1), "\(run.refused.count) in \(run.sleeps.count) pauses")
    for sleep in run.sleeps {
      // Nothing starts in a pause, and the first request after it is alone until it is answered.
      let after = run.starts.filter { $0.second > sleep.began && $0.second < sleep.until + 0.001 }
      #expect(after.count <= 1 && after.allSatisfy { $0.second >= sleep.until })
    }
    return run
  }

  @Test(
    "20/s with Retry-After 5, 500 requests, 16 at once: only requests in flight and probes are refused",
    arguments: [0, 5, 20, 100, 400.0], 1...5)
  func leaky(burst: Double, seed: UInt64) throws {
    let run = try run(.leaky(rate: 20, burst: burst, wait: 5), seed: seed)
    #expect(run.sleeps.count <= 5)
    // With a pause for each exhausted allowance it would take five seconds for each `burst` and a few.
    #expect(run.now < 200, "\(run.now)")
  }

  @Test("100 a minute in fixed windows: few are refused at the end of each, and the windows are used")
  func fixed() throws {
    let run = try run(.fixed(most: 100, window: 60), seed: 1)
    #expect(run.sleeps.count <= 10 && run.now < 420, "\(run.sleeps.count) \(run.now)")
  }

  @Test(
    "an interval is derived from the requests served between two refusals, doubles on refusal, and fades without")
  func interval() {
    func at(_ seconds: Double) -> Deadline { Deadline(nanoseconds: UInt64(seconds * 1e9)) }
    var pace = RecoveryPace()
    pace.accepted(startedAt: at(1))
    pace.refused(at: at(10), pausesFor: 5_000_000_000)
    #expect(pace.interval == 0 && pace.earliest == .distantPast)
    for _ in 0..<20 { pace.accepted(startedAt: at(15)) }
    pace.refused(at: at(20), pausesFor: 5_000_000_000)
    #expect(pace.interval == 500_000_000)
    pace.started(at: at(25))
    #expect(pace.earliest == at(25.5))
    // Refused probes change nothing, in any number.
    for second in 26..<90 { pace.refused(at: at(Double(second)), pausesFor: 5_000_000_000) }
    #expect(pace.interval == 500_000_000)
    pace.refused(at: at(20), pausesFor: 5_000_000_000)
    pace.accepted(startedAt: at(25))
    pace.refused(at: at(26), pausesFor: 5_000_000_000)
    #expect(pace.interval == 1_000_000_000)
    pace.accepted(startedAt: at(35))
    #expect(pace.interval == 1_000_000_000)
    pace.accepted(startedAt: at(36))
    #expect(pace.interval == 800_000_000)
    for trial in 1...31 { pace.accepted(startedAt: at(36 + 5 * Double(trial))) }
    #expect(pace.interval == 0)
    // Long after a pause nothing is learned from the time since.
    pace.refused(at: at(1000), pausesFor: 1_000_000_000)
    #expect(pace.interval == 0)
    pace.accepted(startedAt: at(1001))
    pace.refused(at: at(1001), pausesFor: 1_000_000_000)
    #expect(pace.interval == 1_000_000_000)
  }
}
