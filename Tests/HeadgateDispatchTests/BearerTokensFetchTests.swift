import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Tokens that expire, and fetches that use the dispatcher or meet a change by hand.
@Suite struct BearerTokensFetchTests: BearerTokensSuite {
  let responses = Responses()
  let fetches = Outcomes<BearerToken?>()
  let here: EndPoint

  init() throws { here = try EndPoint(host: "a", port: 80) }

  @Test("a token near the end of its lifetime is replaced before use; a short lifetime is used by half")
  func expiry() async throws {
    for (lifetime, used) in [(60, 50), (8, 4)] {
      let fetches = Outcomes<Int>()
      let tokens = BearerTokens(for: here, overPlainHTTP: true) { _ in
        fetches.add(1)
        return BearerToken("t\(fetches.count)", validFor: .seconds(lifetime))
      }
      let bench = try Bench(requests: 1, interceptors: [tokens])
      func send() async throws -> String? {
        bench.send(try bench.request(), into: responses)
        let exchange = try await bench.transport.next()
        exchange.respond()
        return Self.token(of: exchange)
      }
      #expect(try await send() == "Bearer t1")
      bench.clock.advance(by: .seconds(used) - .milliseconds(1))
      #expect(try await send() == "Bearer t1")
      bench.clock.advance(by: .milliseconds(1))
      #expect(try await send() == "Bearer t2")
      await bench.dispatcher.shutDown()
      #expect(await bench.isCleanAtLast())
    }
  }

  @Test("the lifetime of a given token counts from its first use, that of a fetched token from its fetch")
  func lifetimes() async throws {
    let (inside, goesOn) = (Gate(), Gate())
    let fetches = fetches
    let tokens = BearerTokens(for: here, overPlainHTTP: true, token: BearerToken("given", validFor: .seconds(20))) {
      fetch in
      fetches.add(fetch.old)
      inside.open()
      await goesOn.waitRegardless()
      return BearerToken("t\(fetches.count)", validFor: .seconds(20))
    }
    let bench = try Bench(requests: 1, interceptors: [tokens])
    bench.clock.advance(by: .seconds(100))
    func send() async throws -> String? {
      bench.send(try bench.request(), into: responses)
      let exchange = try await bench.transport.next()
      exchange.respond()
      return Self.token(of: exchange)
    }
    #expect(try await send() == "Bearer given")
    bench.clock.advance(by: .seconds(10))
    bench.send(try bench.request(), into: responses)
    try await inside.wait()
    bench.clock.advance(by: .seconds(9))
    goesOn.open()
    try await bench.transport.next().respond()
    bench.clock.advance(by: .seconds(1))
    #expect(try await send() == "Bearer t2")
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  // // MARK: The requests of a fetch

  @Test("a fetch through the same dispatcher does not wait for itself: its requests are sent without a token")
  func byDispatcher() async throws {
    let dispatcher = LockedBox<URLDispatcher?>(nil)
    let tokens = BearerTokens(for: here, overPlainHTTP: true) { _ in
      guard let own = dispatcher.withLock({ $0 }) else { return nil }
      return BearerToken(try await own.data(for: "http://a/token").text)
    }
    let bench = try Bench(requests: 1, interceptors: [tokens])
    dispatcher.withLock { $0 = bench.dispatcher }
    bench.send(try bench.request(), into: responses)
    let fetch = try await bench.transport.next()
    #expect((fetch.request.url, Self.token(of: fetch)) == ("http://a/token", nil))
    // The same holds when the request is prepared again.
    fetch.respond(302, [.location: "/other"])
    let redirected = try await bench.transport.next()
    #expect((redirected.request.url, Self.token(of: redirected)) == ("http://a/other", nil))
    redirected.respond(body: "t")
    let exchange = try await bench.transport.next()
    #expect(Self.token(of: exchange) == "Bearer t")
    exchange.respond()
    dispatcher.withLock { $0 = nil }
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test("a draining dispatcher still fetches tokens for its requests")
  func drains() async throws {
    let inside = Gate()
    let goesOn = Gate()
    let tokens = BearerTokens(for: here, overPlainHTTP: true) { fetch in
      inside.open()
      await goesOn.waitRegardless()
      return BearerToken(try await fetch.send(try DispatchRequest("http://b/token")).text)
    }
    let bench = try Bench(requests: 1, interceptors: [tokens])
    bench.send(try bench.request(), into: responses)
    try await inside.wait()
    bench.dispatcher.beginShutDown(.drain)
    goesOn.open()
    try await bench.transport.next().respond(body: "t")
    try await bench.transport.next().respond()
    await bench.dispatcher.shutDown()
    #expect(responses.values.map(\.code) == [nil])
    #expect(await bench.isCleanAtLast())
  }

  @Test(
    "a fetch precedes its waiters, and requests whose turn comes meanwhile wait for it instead of being refused")
  func beforeOthers() async throws {
    let tokens = BearerTokens(for: here, overPlainHTTP: true, token: BearerToken("old")) { fetch in
      BearerToken(try await fetch.send(try DispatchRequest("http://a/token")).text)
    }
    let bench = try Bench(requests: 1, interceptors: [tokens])
    bench.send(try bench.request(), into: responses)
    let first = try await bench.transport.next()
    let other = bench.dispatcher.dispatch(try bench.request("/other", host: "b")) { _ in }
    _ = try await bench.transport.next()
    for _ in 0..<20 { bench.send(try bench.request(), into: responses) }
    while bench.counts.waiting < 20 { await Task.yield() }
    bench.dispatcher.gate.stop(here)
    first.respond(401)
    while bench.counts.waiting < 21 { await Task.yield() }
    bench.dispatcher.gate.resume(here)
    let fetch = try await bench.transport.next()
    #expect(fetch.request.url == "http://a/token")
    fetch.respond(body: "new")
    for _ in 0..<21 {
      let exchange = try await bench.transport.next()
      #expect(Self.token(of: exchange) == "Bearer new")
      exchange.respond()
    }
    other.cancel()
    await bench.dispatcher.shutDown()
    #expect(responses.count == 21)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a request that gets its permit on the thread of a fetch is not part of the fetch: it waits for the token")
  func onFetchThread() async throws {
    let dispatcher = LockedBox<URLDispatcher?>(nil)
    let here = here
    let tokens = BearerTokens(for: here, overPlainHTTP: true, token: BearerToken("old")) { _ in
      dispatcher.withLock { $0 }?.gate.resume(here)
      return BearerToken("new")
    }
    let bench = try Bench(requests: 1, interceptors: [tokens])
    dispatcher.withLock { $0 = bench.dispatcher }
    bench.send(try bench.request(), into: responses)
    let first = try await bench.transport.next()
    for _ in 0..<3 { bench.send(try bench.request(), into: responses) }
    while bench.counts.waiting < 3 { await Task.yield() }
    bench.dispatcher.gate.stop(here)
    first.respond(401)
    for _ in 0..<4 {
      let exchange = try await bench.transport.next()
      #expect(Self.token(of: exchange) == "Bearer new")
      exchange.respond()
    }
    dispatcher.withLock { $0 = nil }
    await bench.dispatcher.shutDown()
    #expect(responses.values.map(\.code) == [nil, nil, nil, nil])
    #expect(await bench.isCleanAtLast())
  }

  @Test("a token that expires in the queue is replaced before the request is sent")
  func expiresInQueue() async throws {
    let fetches = fetches
    let tokens = BearerTokens(for: here, overPlainHTTP: true) { fetch in
      fetches.add(fetch.old)
      return BearerToken("t\(fetches.count)", validFor: .seconds(60))
    }
    let bench = try Bench(requests: 1, interceptors: [tokens])
    bench.send(try bench.request(), into: responses)
    let first = try await bench.transport.next()
    bench.send(try bench.request(), into: responses)
    while bench.counts.waiting < 1 { await Task.yield() }
    bench.clock.advance(by: .seconds(59))
    first.respond()
    let second = try await bench.transport.next()
    #expect(Self.token(of: second) == "Bearer t2")
    second.respond()
    await bench.dispatcher.shutDown()
    #expect(fetches.count == 2)
    #expect(await bench.isCleanAtLast())
  }

  // // MARK: Setting a token

  @Test("a token set by hand applies from then on, also to requests that wait for another token or in the queue")
  func byHand() async throws {
    let (inside, goesOn) = (Gate(), Gate())
    let tokens = tokens(after: goesOn, asks: inside)
    let bench = try Bench(requests: 1, interceptors: [tokens])
    bench.send(try bench.request("/1"), into: responses)
    try await inside.wait()
    tokens.setToken(BearerToken("by hand"))
    let first = try await bench.transport.next()
    #expect(Self.token(of: first) == "Bearer by hand")
    bench.send(try bench.request("/2"), into: responses)
    while bench.counts.waiting < 1 { await Task.yield() }
    tokens.setToken(BearerToken("newer"))
    goesOn.open()
    first.respond()
    let second = try await bench.transport.next()
    #expect(Self.token(of: second) == "Bearer newer")
    second.respond()
    tokens.setToken(nil)
    bench.send(try bench.request(), into: responses)
    let third = try await bench.transport.next()
    #expect(Self.token(of: third) == "Bearer t2")
    third.respond()
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test("no textual representation of a token reveals it")
  func secret() {
    let token = BearerToken("hunter2", validFor: .seconds(1))
    var shown = "\(token)" + String(reflecting: token)
    dump(token, to: &shown)
    #expect(!shown.contains("hunter2"))
    #expect(shown.contains("lifetime"))
  }
}
