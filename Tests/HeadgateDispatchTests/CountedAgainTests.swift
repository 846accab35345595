import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// A resent request is another request for the server: it counts again, and keeps to pauses.
@Suite struct CountedAgainTests {
  private static let pauses = PausePolicy(jitter: 0)
  private let responses = Responses()

  private func bench(_ interval: Duration, interceptors: [any RequestInterceptor] = []) throws -> Bench {
    let bench = try Bench(requests: 4, interceptors: interceptors, pauses: Self.pauses)
    bench.dispatcher.setLimits(
      try EndPointLimits(requests: 4, minimumInterval: interval), for: try bench.request().endPoint)
    return bench
  }

  private func started(_ bench: Bench) -> [ScriptedExchange] {
    var started: [ScriptedExchange] = []
    while let one = bench.transport.takeStarted() { started.append(one) }
    return started
  }

  @Test("a redirect to the same end-point waits for the minimum interval between starts, and goes first")
  func redirect() throws {
    let bench = try bench(.seconds(1))
    bench.send(try bench.request("/a"), into: responses)
    let others = try (0..<2).map { bench.send(try bench.request("/\($0)"), into: responses) }
    started(bench)[0].respond(301, [.location: "/a/"])
    #expect(started(bench).isEmpty && bench.counts.running == 0)
    bench.clock.advance(by: .seconds(1))
    let next = started(bench)
    #expect(next.map(\.request.url) == ["http://a/a/"])
    next[0].respond(body: "there")
    #expect(try responses.last?.get().text == "there")
    for _ in others {
      bench.clock.advance(by: .seconds(1))
      for one in started(bench) { one.respond() }
    }
    #expect(responses.count == 3)
    #expect(bench.isClean())
  }

  @Test(
    "a request that must be sent again during a pause waits for its end: after a redirect, after a closed connection",
    arguments: [true, false])
  func pausedMeanwhile(isRedirect: Bool) throws {
    let bench = try Bench(requests: 4, pauses: Self.pauses)
    for path in ["/a", "/b"] { bench.send(try bench.request(path), into: responses) }
    let running = started(bench)
    running[0].respond(429, [.retryAfter: "5"])
    if isRedirect {
      running[1].respond(301, [.location: "/b/"])
    } else {
      running[1].end(DispatchError(.connectionLost, phase: .awaitingHead), connectionWasStale: true)
    }
    #expect(started(bench).isEmpty && responses.count == 1)
    bench.clock.advance(by: .seconds(5))
    let next = started(bench)
    #expect(next.map(\.request.url) == [isRedirect ? "http://a/b/" : "http://a/b"])
    next[0].respond()
    #expect(bench.isClean())
  }

  @Test("a redirect whose deadline falls into the pause ends at once, with that reason")
  func lateRedirect() throws {
    let bench = try Bench(requests: 4, pauses: Self.pauses)
    var late = try bench.request("/b")
    late.deadline = .seconds(3)
    for request in [try bench.request("/a"), late] { bench.send(request, into: responses) }
    let running = started(bench)
    running[0].respond(429, [.retryAfter: "5"])
    running[1].respond(301, [.location: "/b/"])
    #expect(responses.last?.code == .pausedUntil)
    #expect(bench.isClean())
  }

  @Test("a request whose kept connection turns out to be closed waits for the interval, and keeps to a pause")
  func closedConnection() throws {
    let bench = try bench(.seconds(1))
    bench.send(try bench.request("/a"), into: responses)
    let first = started(bench)[0]
    bench.clock.advance(by: .milliseconds(400))
    first.end(DispatchError(.connectionLost, phase: .awaitingHead), connectionWasStale: true)
    #expect(started(bench).isEmpty && bench.counts.running == 0)
    bench.clock.advance(by: .milliseconds(600))
    let second = try #require(started(bench).first)
    #expect(second.exchange.needsNewConnection)
    second.respond()
    #expect(try responses.last?.get().times.attempts == 2)
    #expect(bench.isClean())
  }

  @Test("a redirect that is cancelled while it waits returns its reserved count")
  func cancelledRedirect() throws {
    let bench = try bench(.seconds(1))
    let first = bench.send(try bench.request("/a"), into: responses)
    bench.send(try bench.request("/1"), into: responses)
    started(bench)[0].respond(301, [.location: "/a/"])
    first.cancel()
    bench.clock.advance(by: .seconds(1))
    #expect(started(bench).map(\.request.url) == ["http://a/1"])
    bench.dispatcher.dispose()
  }

  @Test("a permit returned because the preparation is outdated counts nothing")
  func outdated() async throws {
    let asked = Locked(0)
    let hooks = Hooks(outdated: {
      asked.withLock {
        $0 += 1; return $0 == 1
      }
    })
    let bench = try bench(.seconds(1), interceptors: [hooks])
    bench.send(try bench.request("/a"), into: responses)
    // If the first permit counted, it would wait for a clock that never moves.
    let exchange = try await bench.transport.next()
    #expect(asked.withLock { $0 } == 1)
    exchange.respond()
    await responses.wait(for: 1)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a key's quota delays that key's requests only", arguments: [200, 429])
  func keys(status: Int) throws {
    let bench = try Bench(requests: 4, pauses: Self.pauses)
    let remaining = try #require(HTTPField.Name("X-RateLimit-Remaining"))
    let reset = try #require(HTTPField.Name("X-RateLimit-Reset"))
    func request(_ key: String) throws -> DispatchRequest {
      var request = try bench.request("/\(key)")
      request.scopes = [.key(key)]
      return request
    }
    bench.send(try request("x"), into: responses)
    started(bench)[0].respond(status, [remaining: "0", reset: "60"])
    let waiting = bench.send(try request("x"), into: responses)
    for key in ["y", "z"] { bench.send(try request(key), into: responses) }
    #expect(started(bench).map(\.request.url) == ["http://a/y", "http://a/z"])
    #expect(waiting.waitReason?.scope == .key("x"))
    bench.clock.advance(by: .seconds(60))
    #expect(started(bench).map(\.request.url) == ["http://a/x"])
    bench.dispatcher.dispose()
  }

  @Test("a request that is cancelled while it waits for a socket is not counted, unless it got the socket meanwhile")
  func abandoned() throws {
    for getsSocket in [false, true] {
      let bench = try Bench(requests: 4, transport: ScriptedTransport(endsWhenCancelled: false))
      try bench.dispatcher.setLimits(
        EndPointLimits(requests: 4, rates: [.rolling(1, per: .seconds(60))]),
        for: bench.request().endPoint)
      let first = bench.send(try bench.request("/a"), into: responses)
      bench.send(try bench.request("/b"), into: responses)
      let exchange = try #require(started(bench).first)
      exchange.startSocketWait()
      first.cancel()
      if getsSocket { exchange.endSocketWait() }
      #expect(started(bench).isEmpty)
      exchange.end(DispatchError(.cancelled, phase: .connecting))
      if getsSocket {
        #expect(started(bench).isEmpty)
        bench.clock.advance(by: .seconds(62))
      }
      let next = started(bench)
      #expect(next.map(\.request.url) == ["http://a/b"], "got a socket: \(getsSocket)")
      next.first?.respond()
      #expect(bench.isClean())
    }
  }

  @Test("a redirect at a paused end-point that is cancelled while it waits for a socket gives back no count")
  func abandonedRedirect() throws {
    let bench = try Bench(requests: 4, transport: ScriptedTransport(endsWhenCancelled: false))
    let request = try bench.request("/a")
    bench.dispatcher.setLimits(
      try EndPointLimits(requests: 4, rates: [.rolling(1, per: .seconds(60))]), for: request.endPoint)
    let first = bench.send(request, into: responses)
    bench.send(try bench.request("/b"), into: responses)
    let exchange = try #require(started(bench).first)
    bench.dispatcher.gate.stop(request.endPoint)
    exchange.respond(301, [.location: "/a/"])
    let next = try #require(started(bench).first)
    next.startSocketWait()
    first.cancel()
    next.end(DispatchError(.cancelled, phase: .connecting))
    bench.dispatcher.gate.resume(request.endPoint)
    #expect(started(bench).isEmpty)
    bench.clock.advance(by: .seconds(62))
    let last = started(bench)
    #expect(last.map(\.request.url) == ["http://a/b"])
    last.first?.respond()
    #expect(bench.isClean())
  }

  @Test("removing a policy ends its pauses")
  func noPauses() throws {
    let bench = try Bench(requests: 4, pauses: Self.pauses)
    for _ in 0..<5 { bench.send(try bench.request(), into: responses) }
    let running = started(bench)
    for one in running { one.respond(429, [.retryAfter: "500"]) }
    #expect(started(bench).isEmpty && bench.counts.waiting == 1)
    bench.dispatcher.updateLimits { $0.pauses = nil }
    for one in started(bench) { one.respond() }
    #expect(responses.count == 5)
    #expect(bench.isClean())
  }
}
