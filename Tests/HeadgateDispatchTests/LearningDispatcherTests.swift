import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Limits learned by a dispatcher, on the manual clock.
@Suite struct LearningDispatcherTests {
  private func started(_ bench: Bench) -> [ScriptedExchange] {
    var started: [ScriptedExchange] = []
    while let one = bench.transport.takeStarted() { started.append(one) }
    return started
  }

  private func bench(requests: Int = 8, _ policy: AdaptivePolicy) throws -> Bench {
    let bench = try Bench(requests: requests, pauses: PausePolicy(jitter: 0))
    bench.dispatcher.updateLimits { $0.adaptive = policy }
    return bench
  }

  /// Ends all running and waiting requests.
  private func drain(_ bench: Bench) {
    for _ in 0..<200 where bench.counts.waiting + bench.counts.running > 0 {
      for one in started(bench) { one.respond() }
      bench.clock.advance(by: .seconds(1))
    }
  }

  @Test("an end-point begins with few concurrent requests, and reaches its configured limit if it refuses nothing")
  func rises() throws {
    let bench = try bench(AdaptivePolicy())
    let responses = Responses()
    for _ in 0..<40 { bench.send(try bench.request(), into: responses) }
    var atOnce: [Int] = []
    for _ in 0..<5 {
      // Starts are spread over the duration of an answer.
      for _ in 0..<40 { bench.clock.advance(by: .milliseconds(5)) }
      let running = started(bench)
      atOnce.append(running.count)
      for one in running { one.respond() }
    }
    #expect(atOnce[0] == 1 && atOnce.max() == 8)
    #expect(bench.dispatcher.gate.learned == LearnedLimits())
    drain(bench)
    #expect(responses.count == 40)
    #expect(bench.isClean())
  }

  @Test(
    "a refusal without a wait lowers the limit, once per burst, without a pause; the reason and the snapshot show it")
  func falls() throws {
    let bench = try bench(AdaptivePolicy(initialRequests: 4))
    let responses = Responses()
    for _ in 0..<20 {
      bench.send(try bench.request(), into: responses)
      bench.clock.advance(by: .milliseconds(1))
    }
    let running = started(bench)
    #expect(running.count == 4)
    for one in running.reversed() { one.respond(429) }
    #expect(bench.counts.running == 2)
    let snapshot = try #require(bench.dispatcher.snapshot().endPoints.first)
    #expect(snapshot.learnedRequests == 2)
    #expect(snapshot.waitReason?.description == "limit 2/2 learned" && snapshot.waitReason?.kind == .limit)
    #expect(bench.dispatcher.snapshot().description.contains("8 (4 long), learned 2"))
    let learned = try #require(bench.dispatcher.gate.learned[EndPoint("http://a/")])
    #expect(learned.requests == 2 && learned.rate == nil)
    drain(bench)
    #expect(responses.count == 20)
    #expect(bench.isClean())
  }

  @Test("a refusal with a wait pauses as usual")
  func waits() throws {
    let bench = try bench(AdaptivePolicy(initialRequests: 4))
    let responses = Responses()
    for _ in 0..<8 { bench.send(try bench.request(), into: responses) }
    let running = started(bench)
    running[0].respond(429, [.retryAfter: "5"])
    for one in running[1...] { one.respond() }
    bench.clock.advance(by: .milliseconds(4999))
    #expect(started(bench).isEmpty)
    bench.clock.advance(by: .milliseconds(1))
    #expect(started(bench).count == 1)
    bench.dispatcher.dispose()
  }

  @Test(
    "an end-point that refuses single requests has a rate: waits follow it, show it, and end after three failures"
  )
  func rate() throws {
    let bench = try bench(requests: 1, AdaptivePolicy())
    let responses = Responses()
    for _ in 0..<20 { bench.send(try bench.request(), into: responses) }
    bench.clock.advance(by: .milliseconds(100))
    started(bench)[0].respond()
    started(bench)[0].respond(429)
    let reason = try #require(bench.dispatcher.snapshot().endPoints.first?.waitReason)
    #expect(reason.kind == .rate && reason.description.contains("/s learned, next in "))
    #expect(started(bench).isEmpty)
    // The middle request starts at the moment of a fall, and so counts as in flight then.
    for _ in 0..<3 {
      bench.clock.advance(by: .seconds(1))
      try #require(started(bench).first).respond(429)
    }
    #expect(bench.dispatcher.snapshot().endPoints.first?.waitReason?.kind == .paused)
    bench.clock.advance(by: .seconds(2))
    drain(bench)
    #expect(responses.count == 20)
    #expect(bench.isClean())
  }

  @Test("learned limits apply in the next gate, never above the configured ones, and not without a policy")
  func remembered() throws {
    let endPoint = try EndPoint("http://a/")
    var learned = LearnedLimits()
    learned[endPoint] = .init(requests: 3, rate: nil, expires: LearnedLimits.now + 1000)
    let bench = try bench(AdaptivePolicy(remembered: learned))
    let responses = Responses()
    for _ in 0..<8 { bench.send(try bench.request(), into: responses) }
    #expect(started(bench).count == 3)
    bench.dispatcher.updateLimits { $0.adaptive = nil }
    #expect(started(bench).count == 5)
    bench.dispatcher.dispose()
  }

  @Test("a refusal shows that an end-point is reachable: it is not given up by it, nor after it")
  func reachable() throws {
    let bench = try Bench(
      requests: 1, pauses: PausePolicy(jitter: 0), breaker: BreakerPolicy(failures: 2, probes: 1, jitter: 0))
    bench.dispatcher.updateLimits { $0.adaptive = AdaptivePolicy() }
    let responses = Responses()
    for _ in 0..<9 { bench.send(try bench.request(), into: responses) }
    let lost = DispatchError(.connectFailed, phase: .connecting)
    started(bench)[0].end(lost)
    bench.clock.advance(by: .seconds(1))
    // This is not the second failure in a row.
    started(bench)[0].respond(429)
    bench.clock.advance(by: .seconds(1))
    started(bench)[0].end(lost)
    #expect(bench.dispatcher.snapshot().endPoints.first?.waitReason?.kind != .unreachable)
    for _ in 0..<2 {
      bench.clock.advance(by: .seconds(1))
      try #require(started(bench).first).end(lost)
    }
    // Given up, and then the probe is refused with a wait, so new requests wait for it.
    #expect(responses.values.contains { $0.code == .unreachable } && bench.counts.waiting == 0)
    bench.clock.advance(by: .seconds(5))
    bench.send(try bench.request(), into: responses)
    started(bench)[0].respond(429, [.retryAfter: "5"])
    let patient = bench.send(try bench.request(), into: responses)
    #expect(patient.waitReason?.kind == .paused)
    bench.clock.advance(by: .seconds(5))
    drain(bench)
    #expect(patient.state == .finished)
    #expect(bench.isClean())
  }

  @Test("a refusal with a wait pauses an end-point also if its request started before learning was enabled")
  func startedBefore() throws {
    let bench = try Bench(requests: 2, pauses: PausePolicy(jitter: 0))
    let responses = Responses()
    for _ in 0..<4 { bench.send(try bench.request(), into: responses) }
    let running = started(bench)
    bench.dispatcher.updateLimits { $0.adaptive = AdaptivePolicy() }
    running[0].respond(429, [.retryAfter: "5"])
    running[1].respond()
    #expect(started(bench).isEmpty && bench.counts.waiting == 2)
    bench.clock.advance(by: .seconds(5))
    drain(bench)
    #expect(responses.count == 4)
    #expect(bench.isClean())
  }

  @Test("a returned bare permit counts as accepted")
  func permits() throws {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 2))
    limits.adaptive = AdaptivePolicy()
    let (gate, permits) = (EndPointGate(limits: limits, timers: ManualClock(), logger: .silent), Outcomes<Permit>())
    let endPoint = try EndPoint(host: "db.example", port: 1)
    for _ in 0..<4 {
      gate.requestPermit(for: endPoint) { result in if case .success(let permit) = result { permits.add(permit) } }
    }
    #expect(permits.count == 1)
    permits.values[0].release()
    #expect(permits.count == 3 && gate.counts.running == 2)
    for permit in permits.values { permit.release() }
    permits.last?.release()
    #expect(gate.counts.running == 0)
  }
}
