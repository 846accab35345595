import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Which requests get a token, when a token is fetched, and what happens to requests that wait for it.
@Suite struct BearerTokensTests: BearerTokensSuite {
  let responses = Responses()
  let fetches = Outcomes<BearerToken?>()
  let here: EndPoint

  init() throws { here = try EndPoint(host: "a", port: 80) }

  @Test("a hundred requests with a refused token wait for one fetch, and all are sent again")
  func singleFlight() async throws {
    let goesOn = Gate()
    let transport = ScriptedTransport(answer: nil)
    let bench = try Bench(requests: 100, transport: transport, interceptors: [tokens("old", after: goesOn)])
    for _ in 0..<100 { bench.send(try bench.request(), into: responses) }
    var exchanges: [ScriptedExchange] = []
    for _ in 0..<100 { exchanges.append(try await transport.next()) }
    #expect(exchanges.allSatisfy { Self.token(of: $0) == "Bearer old" })
    for exchange in exchanges { exchange.respond(401) }
    await fetches.wait(for: 1)
    #expect(bench.counts.running == 0)
    goesOn.open()
    for _ in 0..<100 {
      let again = try await transport.next()
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
    try await inside.wait()
    #expect(bench.transport.takeStarted() == nil)
    goesOn.open()
    for _ in 0..<9 {
      let exchange = try await bench.transport.next()
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
    let (first, second) = (try await bench.transport.next(), try await bench.transport.next())
    first.respond(401)
    let again = try await bench.transport.next()
    #expect(Self.token(of: again) == "Bearer t1")
    second.respond(401)
    let secondAgain = try await bench.transport.next()
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
    try await bench.transport.next().respond(401, body: "no")
    try await bench.transport.next().respond(401, body: "still no")
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
    try await bench.transport.next().respond(401)
    let second = try await bench.transport.next()
    tokens.setToken(BearerToken("by hand"))
    second.respond(401)
    let third = try await bench.transport.next()
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
      await goesOn.waitRegardless()
      if isBroken.withLock({ $0 }) { throw Mishap() }
      return BearerToken("new")
    }
    let bench = try Bench(requests: 5, interceptors: [tokens])
    for _ in 0..<5 { bench.send(try bench.request(), into: responses) }
    var exchanges: [ScriptedExchange] = []
    for _ in 0..<5 { exchanges.append(try await bench.transport.next()) }
    for exchange in exchanges { exchange.respond(401) }
    goesOn.open()
    await responses.wait(for: 5)
    #expect(responses.values.allSatisfy { $0.code == .interceptorFailed })
    #expect(responses.values.allSatisfy { $0.error?.underlyingError as? Mishap == Mishap() })
    #expect(responses.last?.error?.detail.contains("401") == true)
    isBroken.withLock { $0 = false }
    bench.send(try bench.request(), into: responses)
    try await bench.transport.next().respond(401)
    let again = try await bench.transport.next()
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
    let exchange = try await bench.transport.next()
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
    try await bench.transport.next().respond(401, body: "out")
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
      await goesOn.waitRegardless()
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
    try await cancelled.wait()
    bench.send(try bench.request(), into: responses)
    await fetches.wait(for: 2)
    goesOn.open()
    let exchange = try await bench.transport.next()
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
    let first = try await bench.transport.next()
    #expect(Self.token(of: first) == "Bearer secret")
    first.respond(302, [.location: "http://b/"])
    let second = try await bench.transport.next()
    #expect(second.request.url == "http://b/")
    #expect(Self.token(of: second) == nil)
    second.respond(302, [.location: "https://a/"])
    let third = try await bench.transport.next()
    #expect(Self.token(of: third) == nil)
    third.respond(302, [.location: "http://a/back"])
    let fourth = try await bench.transport.next()
    #expect(Self.token(of: fourth) == "Bearer secret")
    fourth.respond()
    bench.send(try bench.request(host: "b"), into: responses)
    let other = try await bench.transport.next()
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
    let exchange = try await bench.transport.next()
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
    try await bench.transport.next().respond(401, body: "no")
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().text == "no")
    #expect(fetches.count == 0)
    #expect(await bench.isCleanAtLast())
  }
}
