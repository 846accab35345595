import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Whole end-points that pause or sleep, with a dispatcher on the manual clock.
@Suite struct PauseTests {
  private static let pauses = PausePolicy(jitter: 0)
  private static let retries = RetryPolicy(attempts: 3, backoff: .constant(.seconds(2)), budget: .none)

  private func started(_ bench: Bench) -> [ScriptedExchange] {
    var started: [ScriptedExchange] = []
    while let one = bench.transport.takeStarted() { started.append(one) }
    return started
  }

  @Test("D105 403 refuses with a wait only; redirects, 404, 413, 425 and 500 are answers, with or without one")
  func outcomes() {
    func outcome(_ status: Int, _ wait: Duration? = nil) -> ExchangeOutcome {
      ResponseHead(statusCode: status, headerFields: [:]).outcome(wait: wait)
    }
    for status in [200, 301, 302, 307, 308, 403, 404, 413, 425, 500] { #expect(outcome(status) == .answered) }
    for status in [200, 301, 302, 307, 308, 404, 413, 425, 500] { #expect(outcome(status, .seconds(5)) == .answered) }
    #expect(outcome(403, .seconds(5)) == .refused(wait: .seconds(5), status: 403) && outcome(403, .zero) == .answered)
    #expect(outcome(429) == .refused(wait: nil, status: 429))
    #expect(outcome(503, .seconds(5)) == .unavailable(wait: .seconds(5), status: 503))
  }

  @Test("D102 a 429 stops its end-point only; then one request runs alone, then two, then all that the limits allow")
  func pauses() throws {
    let bench = try Bench(requests: 4, pauses: Self.pauses)
    let responses = Responses()
    for _ in 0..<20 { bench.send(try bench.request(), into: responses) }
    var running = started(bench)
    #expect(running.count == 4)
    running[0].respond(429, [.retryAfter: "5"])
    #expect(try responses.last?.get().statusCode == 429)
    for one in running[1...] { one.respond() }
    #expect(started(bench).isEmpty && bench.counts.waiting == 16)
    bench.send(try bench.request(host: "b"), into: responses)
    let other = started(bench)
    #expect(other.count == 1)
    other[0].respond()
    bench.clock.advance(by: .milliseconds(4999))
    #expect(started(bench).isEmpty)
    bench.clock.advance(by: .milliseconds(1))
    var atOnce: [Int] = []
    for _ in 0..<4 {
      running = started(bench)
      atOnce.append(running.count)
      for one in running { one.respond() }
    }
    // Fast answers alone do not end the recovery.
    #expect(atOnce == [1, 2, 2, 2])
    running = started(bench)
    bench.clock.advance(by: .seconds(1))
    running += started(bench)
    #expect(running.count == 4)
    for one in running { one.respond() }
    while bench.counts.waiting + bench.counts.running > 0 { for one in started(bench) { one.respond() } }
    #expect(responses.count == 21)
    #expect(bench.isClean())
  }

  @Test("sixteen refusals at once, without a wait from the server, are a pause of one step")
  func burst() throws {
    let bench = try Bench(requests: 16, pauses: Self.pauses)
    let responses = Responses()
    for _ in 0..<17 { bench.send(try bench.request(), into: responses) }
    for one in started(bench) { one.respond(429) }
    bench.clock.advance(by: .milliseconds(999))
    #expect(started(bench).isEmpty)
    bench.clock.advance(by: .milliseconds(1))
    let probe = started(bench)
    #expect(probe.count == 1)
    probe[0].respond()
    #expect(bench.isClean())
  }

  @Test("a refused request returns to the queue with its age; a pause uses no budget, and waiting requests no attempt")
  func waitsInTheQueue() throws {
    let bench = try Bench(requests: 1, pauses: Self.pauses)
    let responses = Responses()
    var policy = Self.retries
    let budget = RetryBudget(ratio: 0, reserve: 0, limit: 0)
    policy.budget = .shared(budget)
    for number in 0..<4 {
      var request = try bench.request("/\(number)")
      request.retry = policy
      bench.send(request, into: responses)
    }
    started(bench)[0].respond(429, [.retryAfter: "10"])
    bench.clock.advance(by: .seconds(9))
    #expect(started(bench).isEmpty && responses.count == 0 && bench.counts.waiting == 4)
    bench.clock.advance(by: .seconds(1))
    for number in 0..<4 {
      let one = try #require(bench.transport.takeStarted())
      #expect(one.request.url == "http://a/\(number)")
      one.respond()
    }
    #expect(try responses.values.map { try $0.get().times.attempts } == [2, 1, 1, 1])
    #expect(bench.isClean())
  }

  @Test("with patience a refusal uses no attempt, and the end of the patience fails what waits and what comes")
  func patience() throws {
    var pauses = Self.pauses
    pauses.patience = .seconds(100)
    let bench = try Bench(requests: 1, pauses: pauses)
    let responses = Responses()
    for _ in 0..<3 {
      var request = try bench.request()
      request.retry = Self.retries
      bench.send(request, into: responses)
    }
    // More refusals than attempts. Each probe is another request.
    for _ in 0..<10 {
      let probe = started(bench)
      #expect(probe.count == 1)
      probe[0].respond(429, [.retryAfter: "10"])
      bench.clock.advance(by: .seconds(10))
    }
    #expect(responses.count == 0)
    started(bench)[0].respond(429, [.retryAfter: "10"])
    bench.clock.advance(by: .zero)
    #expect(responses.values.map(\.code) == [.refusing, .refusing, .refusing])
    #expect(responses.last?.error?.waitReason?.remaining == .seconds(10))
    #expect(responses.values.map { $0.error?.attempts } == [3, 4, 4])
    bench.send(try bench.request(), into: responses)
    #expect(responses.last?.code == .refusing)
    bench.clock.advance(by: .seconds(10))
    bench.send(try bench.request(), into: responses)
    started(bench)[0].respond()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(bench.isClean())
  }

  @Test("a wait beyond the patience ends all requests at once, and other end-points continue")
  func longWait() throws {
    var pauses = Self.pauses
    pauses.patience = .seconds(100)
    let bench = try Bench(requests: 2, pauses: pauses)
    let responses = Responses()
    for host in ["a", "a", "a", "b"] {
      var request = try bench.request(host: host)
      request.retry = Self.retries
      bench.send(request, into: responses)
    }
    let running = started(bench)
    running[0].respond(429, [.retryAfter: "22680"])
    bench.clock.advance(by: .zero)
    #expect(responses.values.map(\.code) == [.refusing, .refusing])
    #expect(responses.last?.error?.description.contains("6 h 18 min") ?? false)
    // One that ran meanwhile is answered, or refused too.
    running[1].respond(429, [.retryAfter: "22680"])
    bench.clock.advance(by: .zero)
    running[2].respond()
    #expect(responses.values.map(\.code).filter { $0 == .refusing }.count == 3)
    #expect(try responses.last?.get().statusCode == 200)
    #expect(bench.isClean())
  }

  @Test("a request that is always refused beside others that are answered ends alone, after its own patience")
  func ownPatience() throws {
    var pauses = Self.pauses
    pauses.patience = .seconds(100)
    let bench = try Bench(requests: 1, pauses: pauses)
    let (responses, others) = (Responses(), Responses())
    var request = try bench.request("/never")
    request.retry = Self.retries
    bench.send(request, into: responses)
    bench.send(try bench.request("/fine"), into: others)
    var refusals = 0
    for _ in 0..<100 where responses.count == 0 {
      for one in started(bench) {
        if one.request.url.hasSuffix("never") {
          refusals += 1
          one.respond(429, [.retryAfter: "10"])
          bench.clock.advance(by: .zero)
        } else {
          one.respond()
          bench.send(try bench.request("/fine"), into: others)
        }
      }
      bench.clock.advance(by: .seconds(10))
    }
    // Each pause ends with an answer, and then it has its turn. Two more refusals use up the attempts.
    #expect(try responses.last?.get().statusCode == 429)
    #expect(refusals > 3 && others.count >= refusals - 2)
    #expect(others.values.allSatisfy { $0.code == nil })
    while bench.counts.running + bench.counts.waiting > 0 {
      for one in started(bench) { one.respond() }
      bench.clock.advance(by: .seconds(10))
    }
    #expect(bench.isClean())
  }

  @Test("D106 a request whose deadline falls into the pause ends at once, with the reason")
  func deadline() throws {
    let bench = try Bench(requests: 1, pauses: Self.pauses)
    let responses = Responses()
    var soon = try bench.request()
    soon.deadline = .seconds(5)
    var later = try bench.request()
    later.deadline = .seconds(50)
    for request in [try bench.request(), soon, later] { bench.send(request, into: responses) }
    started(bench)[0].respond(429, [.retryAfter: "10"])
    #expect(responses.values.compactMap(\.code) == [.pausedUntil])
    #expect(responses.last?.error?.waitReason?.kind == .paused || responses.count == 2)
    // A new request does not wait in vain either.
    bench.send(soon, into: responses)
    #expect(responses.last?.code == .pausedUntil)
    bench.clock.advance(by: .seconds(10))
    started(bench)[0].respond()
    #expect(responses.count == 4)
    #expect(bench.isClean())
  }

  @Test("a cancelled probe makes room for the next one")
  func cancelledProbe() throws {
    let bench = try Bench(requests: 2, pauses: Self.pauses)
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    started(bench)[0].respond(429, [.retryAfter: "1"])
    let first = bench.send(try bench.request("/1"), into: responses)
    bench.send(try bench.request("/2"), into: responses)
    bench.clock.advance(by: .seconds(1))
    let probe = started(bench)
    #expect(probe.map(\.request.url) == ["http://a/1"])
    first.cancel()
    probe[0].end(DispatchError(.cancelled))
    let next = started(bench)
    #expect(next.map(\.request.url) == ["http://a/2"])
    next[0].respond()
    #expect(bench.isClean())
  }

  @Test("an unreachable end-point sleeps, tries once, and then all waiting requests end as unreachable")
  func unreachable() throws {
    let bench = try Bench(requests: 1, breaker: BreakerPolicy(failures: 3, probes: 1, jitter: 0))
    let responses = Responses()
    for _ in 0..<10 { bench.send(try bench.request(), into: responses) }
    for code in [DispatchError.Code.connectFailed, .nameNotResolved, .connectTimedOut] {
      started(bench)[0].end(DispatchError(code, phase: .connecting))
    }
    #expect(started(bench).isEmpty && responses.count == 3)
    #expect(
      bench.dispatcher.snapshot().endPoints.first?.waitReason?.description
        == "unreachable, next try in 1.0 s: no connection in time")
    bench.clock.advance(by: .seconds(1))
    started(bench)[0].end(DispatchError(.tlsFailed, phase: .securing, detail: "no host has this certificate"))
    #expect(responses.count == 10 && responses.values.count { $0.code == .unreachable } == 6)
    // Those that were never sent say why.
    let reason = responses.values.last { $0.code == .unreachable }?.error?.waitReason?.description
    #expect(reason == "unreachable, next try in 2.0 s: no host has this certificate")
    // While it sleeps again, new requests are refused. Then one may try.
    bench.send(try bench.request(), into: responses)
    #expect(responses.last?.code == .unreachable)
    bench.clock.advance(by: .seconds(2))
    bench.send(try bench.request(), into: responses)
    started(bench)[0].respond(404)
    bench.send(try bench.request(), into: responses)
    started(bench)[0].respond()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(bench.isClean())
  }

  @Test("a request that times out before its first byte counts as a failure to reach, a cancelled one does not")
  func silent() throws {
    let bench = try Bench(requests: 1, breaker: BreakerPolicy(failures: 2, probes: 9, jitter: 0))
    let responses = Responses()
    var request = try bench.request()
    request.timeout = .seconds(3)
    for _ in 0..<5 { bench.send(request, into: responses) }
    for _ in 0..<2 {
      let one = started(bench)[0]
      bench.clock.advance(by: .seconds(3))
      one.end(DispatchError(.cancelled))
    }
    #expect(started(bench).isEmpty)
    bench.clock.advance(by: .seconds(1))
    for one in started(bench) { one.respond() }
    while bench.counts.running > 0 { for one in started(bench) { one.respond() } }
    #expect(responses.values.count { $0.code == .timedOut } == 2)
    #expect(bench.isClean())
  }

  @Test("a server's quota delays later requests until its reset; an increase has no effect")
  func quota() throws {
    let bench = try Bench(requests: 1, pauses: Self.pauses)
    let responses = Responses()
    let remaining = try #require(HTTPField.Name("X-RateLimit-Remaining"))
    let reset = try #require(HTTPField.Name("X-RateLimit-Reset"))
    bench.send(try bench.request(), into: responses)
    let second = bench.send(try bench.request(), into: responses)
    started(bench)[0].respond(200, [remaining: "0", reset: "7"])
    #expect(started(bench).isEmpty && second.waitReason?.kind == .quota)
    bench.clock.advance(by: .seconds(7))
    let next = started(bench)
    #expect(next.count == 1)
    next.first?.respond(200, [remaining: "1000000", reset: "60"])
    #expect(responses.count == 2)
    #expect(bench.isClean())
  }

  @Test("a quota applies beside a rate, and counts running requests as if the server did not know them")
  func quotaBesideRate() throws {
    for rates in [[], [try Rate("1000/s")]] {
      let bench = try Bench(requests: 3, pauses: Self.pauses)
      bench.dispatcher.setLimits(try EndPointLimits(requests: 3, rates: rates), for: try bench.request().endPoint)
      let responses = Responses()
      let remaining = try #require(HTTPField.Name("X-RateLimit-Remaining"))
      let reset = try #require(HTTPField.Name("X-RateLimit-Reset"))
      for _ in 0..<9 { bench.send(try bench.request(), into: responses) }
      bench.clock.advance(by: .milliseconds(50))
      var running = started(bench)
      #expect(running.count == 3)
      // Three are left for the server, which may not know of the other two that run.
      running[0].respond(200, [remaining: "3", reset: "7"])
      bench.clock.advance(by: .milliseconds(50))
      running += started(bench)
      #expect(running.count == 4)
      for one in running[1...] { one.respond() }
      bench.clock.advance(by: .seconds(5))
      #expect(started(bench).isEmpty && bench.counts.waiting == 5)
      bench.clock.advance(by: .seconds(2))
      while bench.counts.waiting + bench.counts.running > 0 {
        for one in started(bench) { one.respond() }
        bench.clock.advance(by: .milliseconds(10))
      }
      #expect(responses.count == 9)
      #expect(bench.isClean())
    }
  }

  @Test("a refused request waits out a pause that is longer than its own longest Retry-After")
  func longPause() throws {
    let bench = try Bench(requests: 1, pauses: Self.pauses)
    let responses = Responses()
    var request = try bench.request()
    request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(1)), budget: .none)
    request.timeout = nil
    bench.send(request, into: responses)
    started(bench)[0].respond(429, [.retryAfter: "300"])
    #expect(responses.count == 0)
    bench.clock.advance(by: .seconds(300))
    started(bench)[0].respond()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(bench.isClean())
  }

  @Test("without a policy nothing pauses")
  func off() throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    for _ in 0..<3 { bench.send(try bench.request(), into: responses) }
    for _ in 0..<3 { started(bench)[0].respond(429, [.retryAfter: "60"]) }
    #expect(responses.count == 3)
    #expect(bench.isClean())
  }

  @Test("in a raw head the names of quota fields are found in any case, and no others")
  func heads() {
    func tells(_ text: String) -> Bool { ResponseHead(statusCode: 200, block: Array(text.utf8)).mayTellQuotas }
    #expect(tells("HTTP/1.1 200 OK\r\nDate: x\r\nX-RateLimit-Limit: 5\r\n"))
    #expect(tells("HTTP/2 200\r\nratelimit: \"a\";r=1\r\n\r\n"))
    #expect(tells("a: b\nRATELIMIT-Policy: x\n"))
    for text in [
      "", "\n", "\n\n\nx", "HTTP/1.1 200 OK\r\nX-Rat: 1\r\nx: ratelimit\r\n", "retry-after: 1\r\nrate: 2\r\n",
    ] {
      #expect(!tells(text))
    }
  }
}
