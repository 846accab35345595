import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Which requests get a token, when a token is fetched, and what happens to requests that wait for it.
@Suite struct BearerTokensTests {
  private let responses = Responses()
  /// Numbers the fetches.
  private let fetches = Outcomes<BearerToken?>()
  private let here: EndPoint

  init() throws { here = try EndPoint(host: "a", port: 80) }

  /// Provides the tokens `t1`, `t2` and so on, each after the gate is open.
  private func tokens(
    _ first: String? = nil, lifetime: Duration? = nil, after gate: Gate? = nil, asks inside: Gate? = nil
  ) -> BearerTokens {
    let fetches = fetches
    return BearerTokens(for: here, overPlainHTTP: true, token: first.map { BearerToken($0) }) { fetch in
      fetches.add(fetch.old)
      let number = fetches.count
      inside?.open()
      await gate?.wait()
      return BearerToken("t\(number)", validFor: lifetime)
    }
  }

  private static func token(of exchange: ScriptedExchange) -> String? {
    exchange.request.headerFields[.authorization]
  }

  @Test("a hundred requests with a refused token wait for one fetch, and all are sent again")
  func singleFlight() async throws {
    let goesOn = Gate()
    let transport = ScriptedTransport(answer: nil)
    let bench = try Bench(requests: 100, transport: transport, interceptors: [tokens("old", after: goesOn)])
    for _ in 0..<100 { bench.send(try bench.request(), into: responses) }
    var exchanges: [ScriptedExchange] = []
    for _ in 0..<100 { exchanges.append(await transport.next()) }
    #expect(exchanges.allSatisfy { Self.token(of: $0) == "Bearer old" })
    for exchange in exchanges { exchange.respond(401) }
    await fetches.wait(for: 1)
    #expect(bench.counts.running == 0)
    goesOn.open()
    for _ in 0..<100 {
      let again = await transport.next()
      #expect(Self.token(of: again) == "Bearer t1")
      again.respond()
    }
    await bench.dispatcher.shutDown()
    #expect(responses.values.allSatisfy { $0.code == nil } && responses.count == 100)
    #expect(fetches.values == [BearerToken("old")])
    #expect(await bench.isCleanAtLast())
  }

  @Test("the first requests wait for one fetch, and send nothing before")
  func first() async throws {
    let (inside, goesOn) = (Gate(), Gate())
    let bench = try Bench(requests: 9, interceptors: [tokens(after: goesOn, asks: inside)])
    for _ in 0..<9 { bench.send(try bench.request(), into: responses) }
    await inside.wait()
    #expect(bench.transport.takeStarted() == nil)
    goesOn.open()
    for _ in 0..<9 {
      let exchange = await bench.transport.next()
      #expect(Self.token(of: exchange) == "Bearer t1")
      exchange.respond()
    }
    await bench.dispatcher.shutDown()
    #expect(fetches.values == [nil])
    #expect(await bench.isCleanAtLast())
  }

  @Test("a request whose token was replaced after it was sent is sent again without a fetch")
  func late() async throws {
    let bench = try Bench(requests: 2, interceptors: [tokens("old")])
    for _ in 0..<2 { bench.send(try bench.request(), into: responses) }
    let (first, second) = (await bench.transport.next(), await bench.transport.next())
    first.respond(401)
    let again = await bench.transport.next()
    #expect(Self.token(of: again) == "Bearer t1")
    second.respond(401)
    let secondAgain = await bench.transport.next()
    #expect(Self.token(of: secondAgain) == "Bearer t1")
    again.respond()
    secondAgain.respond()
    await bench.dispatcher.shutDown()
    #expect(fetches.count == 1)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a request that is refused with its new token too ends with that response, after one fetch")
  func refusedAgain() async throws {
    let bench = try Bench(requests: 1, interceptors: [tokens("old")])
    bench.send(try bench.request(), into: responses)
    await bench.transport.next().respond(401, body: "no")
    await bench.transport.next().respond(401, body: "still no")
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().text == "still no")
    #expect(fetches.count == 1)
    #expect(await bench.isCleanAtLast())
  }

  @Test("after a fetch, a request is sent once more even if another request has replaced the token since")
  func replacedTwice() async throws {
    let tokens = tokens("old")
    let bench = try Bench(requests: 1, interceptors: [tokens])
    bench.send(try bench.request(), into: responses)
    await bench.transport.next().respond(401)
    let second = await bench.transport.next()
    tokens.setToken(BearerToken("by hand"))
    second.respond(401)
    let third = await bench.transport.next()
    #expect(Self.token(of: third) == "Bearer by hand")
    third.respond(401)
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().statusCode == 401)
    #expect(fetches.count == 1)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a failed fetch fails all its waiters with the same error, and the next request tries again")
  func fails() async throws {
    let goesOn = Gate()
    let isBroken = LockedBox(true)
    let fetches = fetches
    let tokens = BearerTokens(for: here, overPlainHTTP: true, token: BearerToken("old")) { fetch in
      fetches.add(fetch.old)
      await goesOn.wait()
      if isBroken.withLock({ $0 }) { throw Mishap() }
      return BearerToken("new")
    }
    let bench = try Bench(requests: 5, interceptors: [tokens])
    for _ in 0..<5 { bench.send(try bench.request(), into: responses) }
    var exchanges: [ScriptedExchange] = []
    for _ in 0..<5 { exchanges.append(await bench.transport.next()) }
    for exchange in exchanges { exchange.respond(401) }
    goesOn.open()
    await responses.wait(for: 5)
    #expect(responses.values.allSatisfy { $0.code == .interceptorFailed })
    #expect(responses.values.allSatisfy { $0.error?.underlyingError as? Mishap == Mishap() })
    #expect(responses.last?.error?.detail.contains("401") == true)
    isBroken.withLock { $0 = false }
    bench.send(try bench.request(), into: responses)
    await bench.transport.next().respond(401)
    let again = await bench.transport.next()
    #expect(Self.token(of: again) == "Bearer new")
    again.respond()
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test("without a token requests are sent without one, and a 401 is the response")
  func none() async throws {
    let fetches = fetches
    let tokens = BearerTokens(for: here, overPlainHTTP: true) { fetch in
      fetches.add(fetch.old)
      return nil
    }
    let bench = try Bench(requests: 1, interceptors: [tokens])
    bench.send(try bench.request(), into: responses)
    let exchange = await bench.transport.next()
    #expect(Self.token(of: exchange) == nil)
    exchange.respond(401)
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().statusCode == 401)
    #expect(fetches.count == 1)
    #expect(await bench.isCleanAtLast())
  }

  @Test("if the user signs out between two attempts, the 401 is the response")
  func signedOut() async throws {
    let fetches = fetches
    let tokens = BearerTokens(for: here, overPlainHTTP: true, token: BearerToken("old")) { fetch in
      fetches.add(fetch.old)
      return nil
    }
    let bench = try Bench(requests: 1, interceptors: [tokens])
    bench.send(try bench.request(), into: responses)
    await bench.transport.next().respond(401, body: "out")
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().text == "out")
    #expect(fetches.values == [BearerToken("old")])
    #expect(tokens.token == nil)
    #expect(await bench.isCleanAtLast())
  }

  // // MARK: Cancellation

  @Test(
    "a cancelled waiter leaves the fetch to others; without waiters it is cancelled, and the next one is new"
  )
  func givingUp() async throws {
    let (cancelled, goesOn) = (Gate(), Gate())
    let fetches = fetches
    let tokens = BearerTokens(for: here, overPlainHTTP: true) { fetch in
      fetches.add(fetch.old)
      if fetches.count == 1 {
        defer { cancelled.open() }
        try await untilCancelled()
      }
      await goesOn.wait()
      return BearerToken("t")
    }
    let bench = try Bench(requests: 3, interceptors: [tokens])
    var late = try bench.request()
    late.deadline = .seconds(5)
    let operations = [
      bench.send(try bench.request(), into: responses), bench.send(late, into: responses),
    ]
    await fetches.wait(for: 1)
    while tokens.waiting < 2 { await Task.yield() }
    operations[0].cancel()
    #expect(responses.values.map(\.code) == [.cancelled])
    // A waiter whose task has not yet set what a cancellation does gives up a moment later.
    while tokens.waiting > 1 { await Task.yield() }
    #expect(tokens.waiting == 1)
    #expect(!cancelled.isOpen)
    bench.clock.advance(by: .seconds(5))
    #expect(responses.values.map(\.code) == [.cancelled, .deadlineExceeded])
    await cancelled.wait()
    bench.send(try bench.request(), into: responses)
    await fetches.wait(for: 2)
    goesOn.open()
    let exchange = await bench.transport.next()
    #expect(Self.token(of: exchange) == "Bearer t")
    exchange.respond()
    await bench.dispatcher.shutDown()
    #expect(fetches.count == 2)
    #expect(await bench.isCleanAtLast())
  }

  // // MARK: Scope

  @Test(
    "no other end-point gets the token, by a redirect or directly; a redirect back restores it")
  func otherPlaces() async throws {
    let bench = try Bench(requests: 1, interceptors: [tokens("secret")])
    var request = try bench.request()
    request.redirects = .all
    bench.send(request, into: responses)
    let first = await bench.transport.next()
    #expect(Self.token(of: first) == "Bearer secret")
    first.respond(302, [.location: "http://b/"])
    let second = await bench.transport.next()
    #expect(second.request.url == "http://b/")
    #expect(Self.token(of: second) == nil)
    second.respond(302, [.location: "https://a/"])
    let third = await bench.transport.next()
    #expect(Self.token(of: third) == nil)
    third.respond(302, [.location: "http://a/back"])
    let fourth = await bench.transport.next()
    #expect(Self.token(of: fourth) == "Bearer secret")
    fourth.respond()
    bench.send(try bench.request(host: "b"), into: responses)
    let other = await bench.transport.next()
    #expect(Self.token(of: other) == nil)
    // This 401 must not be answered.
    other.respond(401)
    await bench.dispatcher.shutDown()
    #expect(fetches.count == 0)
    #expect(await bench.isCleanAtLast())
  }

  @Test(
    "a request with its own Authorization field keeps it, and causes no fetch",
    arguments: ["Basic x", "Bearer own"])
  func ownField(_ field: String) async throws {
    let bench = try Bench(requests: 1, interceptors: [tokens("secret")])
    var request = try bench.request()
    request.headerFields[.authorization] = field
    bench.send(request, into: responses)
    let exchange = await bench.transport.next()
    #expect(Self.token(of: exchange) == field)
    exchange.respond(401)
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().statusCode == 401)
    #expect(fetches.count == 0)
    #expect(await bench.isCleanAtLast())
  }

  @Test("with a body that can't be sent again, the 401 is the response, and nothing is fetched")
  func bodyOnce() async throws {
    let bench = try Bench(requests: 1, interceptors: [tokens("old")])
    var request = try bench.request()
    request.method = .post
    request.body = RequestBody([1], canBeSentAgain: false)
    bench.send(request, into: responses)
    await bench.transport.next().respond(401, body: "no")
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().text == "no")
    #expect(fetches.count == 0)
    #expect(await bench.isCleanAtLast())
  }

  // // MARK: Expiry

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
        let exchange = await bench.transport.next()
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
      await goesOn.wait()
      return BearerToken("t\(fetches.count)", validFor: .seconds(20))
    }
    let bench = try Bench(requests: 1, interceptors: [tokens])
    bench.clock.advance(by: .seconds(100))
    func send() async throws -> String? {
      bench.send(try bench.request(), into: responses)
      let exchange = await bench.transport.next()
      exchange.respond()
      return Self.token(of: exchange)
    }
    #expect(try await send() == "Bearer given")
    bench.clock.advance(by: .seconds(10))
    bench.send(try bench.request(), into: responses)
    await inside.wait()
    bench.clock.advance(by: .seconds(9))
    goesOn.open()
    await bench.transport.next().respond()
    bench.clock.advance(by: .seconds(1))
    #expect(try await send() == "Bearer t2")
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  // // MARK: The requests of a fetch

  @Test("a token is fetched through the same dispatcher from the same end-point, at a limit of one")
  func sameEndPoint() async throws {
    let tokens = BearerTokens(for: here, overPlainHTTP: true, token: BearerToken("old")) { fetch in
      BearerToken(try await fetch.send(try DispatchRequest("http://a/token")).text)
    }
    let bench = try Bench(requests: 1, interceptors: [tokens])
    for _ in 0..<3 { bench.send(try bench.request(), into: responses) }
    let transport = bench.transport
    var (refused, fetched, served) = (0, 0, 0)
    while served < 3 {
      let exchange = await transport.next()
      #expect(bench.counts.running == 1)
      switch (exchange.request.url, Self.token(of: exchange)) {
      case ("http://a/token", nil):
        fetched += 1
        exchange.respond(body: "new")
      case (_, "Bearer new"):
        served += 1
        exchange.respond()
      default:
        refused += 1
        exchange.respond(401)
      }
    }
    await bench.dispatcher.shutDown()
    #expect(fetched == 1 && refused >= 1)
    #expect(responses.values.map(\.code) == [nil, nil, nil])
    #expect(await bench.isCleanAtLast())
  }

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
    let fetch = await bench.transport.next()
    #expect((fetch.request.url, Self.token(of: fetch)) == ("http://a/token", nil))
    // The same holds when the request is prepared again.
    fetch.respond(302, [.location: "/other"])
    let redirected = await bench.transport.next()
    #expect((redirected.request.url, Self.token(of: redirected)) == ("http://a/other", nil))
    redirected.respond(body: "t")
    let exchange = await bench.transport.next()
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
      await goesOn.wait()
      return BearerToken(try await fetch.send(try DispatchRequest("http://b/token")).text)
    }
    let bench = try Bench(requests: 1, interceptors: [tokens])
    bench.send(try bench.request(), into: responses)
    await inside.wait()
    bench.dispatcher.beginShutDown(.drain)
    goesOn.open()
    await bench.transport.next().respond(body: "t")
    await bench.transport.next().respond()
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
    let first = await bench.transport.next()
    let other = bench.dispatcher.dispatchShort(try bench.request("/other", host: "b")) { _ in }
    _ = await bench.transport.next()
    for _ in 0..<20 { bench.send(try bench.request(), into: responses) }
    while bench.counts.waiting < 20 { await Task.yield() }
    bench.dispatcher.gate.pause(here)
    first.respond(401)
    while bench.counts.waiting < 21 { await Task.yield() }
    bench.dispatcher.gate.resume(here)
    let fetch = await bench.transport.next()
    #expect(fetch.request.url == "http://a/token")
    fetch.respond(body: "new")
    for _ in 0..<21 {
      let exchange = await bench.transport.next()
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
    let first = await bench.transport.next()
    for _ in 0..<3 { bench.send(try bench.request(), into: responses) }
    while bench.counts.waiting < 3 { await Task.yield() }
    bench.dispatcher.gate.pause(here)
    first.respond(401)
    for _ in 0..<4 {
      let exchange = await bench.transport.next()
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
    let first = await bench.transport.next()
    bench.send(try bench.request(), into: responses)
    while bench.counts.waiting < 1 { await Task.yield() }
    bench.clock.advance(by: .seconds(59))
    first.respond()
    let second = await bench.transport.next()
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
    await inside.wait()
    tokens.setToken(BearerToken("by hand"))
    let first = await bench.transport.next()
    #expect(Self.token(of: first) == "Bearer by hand")
    bench.send(try bench.request("/2"), into: responses)
    while bench.counts.waiting < 1 { await Task.yield() }
    tokens.setToken(BearerToken("newer"))
    goesOn.open()
    first.respond()
    let second = await bench.transport.next()
    #expect(Self.token(of: second) == "Bearer newer")
    second.respond()
    tokens.setToken(nil)
    bench.send(try bench.request(), into: responses)
    let third = await bench.transport.next()
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
