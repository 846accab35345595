import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// A request whose preparation is outdated when it gets its permit is prepared again, and keeps the permit, unless the
/// permit may be needed for that.
@Suite struct RenewalTests: BearerTokensSuite {
  let responses = Responses()
  let fetches = Outcomes<BearerToken?>()
  let here: EndPoint

  init() throws { here = try EndPoint(host: "a", port: 80) }

  /// One request runs, and others wait with the same token, which is then refused.
  ///
  /// - Parameter own: Gets the dispatcher before that, for a fetch that sends by its own methods.
  private func refused(
    _ tokens: BearerTokens, waiting: Int, total: Int = 100, own: LockedBox<URLDispatcher?>? = nil
  ) async throws -> Bench {
    let bench = try Bench(requests: 1, total: total, interceptors: [tokens])
    own?.withLock { $0 = bench.dispatcher }
    bench.send(try bench.request("/first"), into: responses)
    let first = try await bench.transport.next()
    for number in 0..<waiting { bench.send(try bench.request("/\(number)"), into: responses) }
    while bench.counts.waiting < waiting { await Task.yield() }
    first.respond(401)
    return bench
  }

  /// The next request fetches the token, and all others are sent with it.
  private func renews(
    _ bench: Bench, at url: String, for count: Int, own: LockedBox<URLDispatcher?>
  ) async throws {
    let fetch = try await bench.transport.next()
    #expect((fetch.request.url, Self.token(of: fetch), bench.counts.running) == (url, nil, 1))
    fetch.respond(body: "new")
    _ = responses.takeAll()
    for _ in 0..<count {
      let exchange = try await bench.transport.next()
      #expect((Self.token(of: exchange), bench.counts.running) == ("Bearer new", 1))
      exchange.respond()
    }
    own.withLock { $0 = nil }
    await bench.dispatcher.shutDown()
    #expect(responses.values.map(\.code) == Array(repeating: nil, count: count))
    #expect(await bench.isCleanAtLast())
  }

  @Test("no caller gets a 401, however often the token is used up while it waits")
  func usedUp() async throws {
    let bench = try Bench(requests: 2, interceptors: [tokens("t0")])
    for _ in 0..<200 { bench.send(try bench.request(), into: responses) }
    var uses: [String: Int] = [:]
    while responses.count < 200 {
      guard let exchange = bench.transport.takeStarted() else {
        await Task.yield()
        continue
      }
      let token = try #require(Self.token(of: exchange))
      uses[token, default: 0] += 1
      exchange.respond(uses[token, default: 0] > 25 ? 401 : 200)
    }
    await bench.dispatcher.shutDown()
    #expect(responses.values.allSatisfy { (try? $0.get().statusCode) == 200 })
    #expect(fetches.count == 7 || fetches.count == 8)
    #expect(await bench.isCleanAtLast())
  }

  @Test("during a renewal the requests that wait stay in the queue")
  func queueStays() async throws {
    let (inside, goesOn) = (Gate(), Gate())
    let bench = try await refused(tokens("old", after: goesOn, asks: inside), waiting: 100)
    try await inside.wait()
    #expect(bench.counts.running == 1)
    #expect(bench.counts.waiting == 99)
    goesOn.open()
    for _ in 0...100 {
      let exchange = try await bench.transport.next()
      #expect(Self.token(of: exchange) == "Bearer t1")
      exchange.respond()
    }
    await bench.dispatcher.shutDown()
    #expect(fetches.count == 1)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a request of an interceptor that waits gets the permit, also if it is sent by the dispatcher's own methods")
  func needy() async throws {
    for isOwn in [false, true] {
      let dispatcher = LockedBox<URLDispatcher?>(nil)
      let tokens = BearerTokens(for: here, overPlainHTTP: true, token: BearerToken("old")) { fetch in
        guard isOwn, let own = dispatcher.withLock({ $0 }) else {
          return BearerToken(try await fetch.send(try DispatchRequest("http://a/token")).text)
        }
        return BearerToken(try await own.data(for: "http://a/token").text)
      }
      let bench = try await refused(tokens, waiting: 10, own: dispatcher)
      // No time passes.
      try await renews(bench, at: "http://a/token", for: 11, own: dispatcher)
    }
  }

  @Test("work that nobody knows to need the permit gets it after a second")
  func patience() async throws {
    let dispatcher = LockedBox<URLDispatcher?>(nil)
    let inside = Gate()
    let tokens = BearerTokens(for: here, overPlainHTTP: true, token: BearerToken("old")) { _ in
      guard let own = dispatcher.withLock({ $0 }) else { return nil }
      let text = Task.detached {
        inside.open()
        return try await own.data(for: "http://b/token").text
      }
      return BearerToken(try await text.value)
    }
    let bench = try await refused(tokens, waiting: 10, total: 1, own: dispatcher)
    try await inside.wait()
    while bench.counts.waiting < 10 { await Task.yield() }
    #expect(bench.counts.running == 1 && bench.transport.takeStarted() == nil)
    bench.clock.advance(by: .seconds(1))
    try await renews(bench, at: "http://b/token", for: 11, own: dispatcher)
  }

  @Test("a request that ends while it keeps its permit returns the permit at once")
  func ends() async throws {
    let (inside, goesOn) = (Gate(), Gate())
    let bench = try Bench(requests: 1, interceptors: [tokens("old", after: goesOn, asks: inside)])
    bench.send(try bench.request("/first"), into: responses)
    let first = try await bench.transport.next()
    let next = bench.send(try bench.request("/next"), into: responses)
    while bench.counts.waiting < 1 { await Task.yield() }
    bench.send(try bench.request("/last"), into: responses)
    while bench.counts.waiting < 2 { await Task.yield() }
    first.respond(401)
    try await inside.wait()
    #expect(bench.counts.waiting == 1)
    next.cancel()
    await responses.wait(for: 1)
    #expect(responses.values.first?.error?.phase == .intercepting)
    // The last one has the permit now, and keeps it.
    #expect(bench.counts.running == 1 && bench.counts.waiting == 0)
    goesOn.open()
    for _ in 0..<2 { try await bench.transport.next().respond() }
    await bench.dispatcher.shutDown()
    #expect(bench.transport.violations == [])
    #expect(await bench.isCleanAtLast())
  }

  @Test("a request that is prepared for another end-point, or whose own was stopped meanwhile, gives the permit back")
  func otherwise() async throws {
    for isElsewhere in [true, false] {
      let (inside, goesOn) = (Gate(), Gate())
      let calls = Locked(0)
      let hooks = Hooks(
        prepare: { request, _ in
          guard
            calls.withLock({
              $0 += 1; return $0 == 2
            })
          else { return }
          inside.open()
          await goesOn.waitRegardless()
          if isElsewhere { request = try DispatchRequest("http://b/") }
        }, outdated: { calls.withLock { $0 == 1 } })
      let bench = try Bench(requests: 1, interceptors: [hooks])
      bench.send(try bench.request(), into: responses)
      await inside.waitRegardless()
      #expect(bench.counts.running == 1)
      let there = try EndPoint(host: isElsewhere ? "b" : "a", port: 80)
      bench.dispatcher.gate.stop(there)
      goesOn.open()
      while bench.counts.waiting < 1 { await Task.yield() }
      #expect(bench.counts.running == 0 && bench.transport.takeStarted() == nil)
      bench.dispatcher.gate.resume(there)
      let exchange = try await bench.transport.next()
      #expect(exchange.request.endPoint == there)
      exchange.respond()
      await bench.dispatcher.shutDown()
      #expect(bench.transport.violations == [])
      #expect(await bench.isCleanAtLast())
    }
  }

  @Test("a token that is always outdated, and needs the permit itself, is not fetched for ever")
  func alwaysOutdated() async throws {
    let here = here
    let fetched = Locked(0)
    let tokens = BearerTokens(for: here, overPlainHTTP: true) { fetch in
      fetched.withLock { $0 += 1 }
      let text = try await fetch.send(try DispatchRequest("http://a/token")).text
      return BearerToken(text, validFor: .zero)
    }
    let bench = try Bench(
      requests: 1, transport: ScriptedTransport { $0.respond(body: "new") }, interceptors: [tokens])
    bench.send(try bench.request(), into: responses)
    await responses.wait(for: 1)
    #expect(try responses.last?.get().statusCode == 200)
    #expect(fetched.withLock { $0 } == 101)
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }
}
