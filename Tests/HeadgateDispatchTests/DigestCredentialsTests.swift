import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Requests to servers that want answers in the Digest scheme.
@Suite struct DigestCredentialsTests {
  let responses = Responses()
  let credentials: DigestCredentials

  init() throws { credentials = DigestCredentials(user: "ada", password: "x", for: try EndPoint(host: "a", port: 80)) }

  private static func asks(_ nonce: String, realm: String = "r", stale: Bool = false) -> HTTPFields {
    [.wwwAuthenticate: "Digest realm=\(realm), nonce=\(nonce), qop=auth, algorithm=SHA-256, stale=\(stale)"]
  }

  /// The nonce and the count of an exchange's answer, and its target; nil if it has no answer.
  private static func answer(of exchange: ScriptedExchange) -> String? {
    guard let field = exchange.request.headerFields[.authorization] else { return nil }
    let parameters = AuthenticationOffers([field]).all.first?.parameters ?? [:]
    return ["nonce", "nc", "uri"].map { parameters[$0] ?? "-" }.joined(separator: " ")
  }

  /// The server has asked once, and the answer was right.
  private func bench(requests: Int = 1, knowing nonce: String) async throws -> Bench {
    let bench = try Bench(requests: requests, interceptors: [credentials])
    bench.send(try bench.request(), into: responses)
    try await bench.transport.next().respond(401, Self.asks(nonce))
    try await bench.transport.next().respond()
    await responses.wait(for: 1)
    _ = responses.takeAll()
    return bench
  }

  @Test("a 401 is answered by a request of its own, without an attempt; the next requests are answered in advance")
  func answers() async throws {
    let bench = try Bench(requests: 1, interceptors: [credentials])
    var request = try bench.request("/x?y=1")
    request.retry = RetryPolicy(attempts: 1)
    bench.send(request, into: responses)
    let first = try await bench.transport.next()
    #expect(Self.answer(of: first) == nil)
    first.respond(401, Self.asks("n"), body: "who?")
    let second = try await bench.transport.next()
    #expect(Self.answer(of: second) == "n 00000001 /x?y=1")
    #expect((bench.counts.running, second.exchange.request.method) == (1, .get))
    second.respond(body: "in")
    await responses.wait(for: 1)
    #expect(try responses.last?.get().text == "in")
    for count in 2...3 {
      bench.send(try bench.request("/\(count)"), into: responses)
      let next = try await bench.transport.next()
      #expect(Self.answer(of: next) == "n 0000000\(count) /\(count)")
      next.respond()
    }
    await bench.dispatcher.shutDown()
    #expect(responses.values.map(\.code) == [nil, nil, nil])
    #expect(await bench.isCleanAtLast())
  }

  @Test("fifty requests to a server with room for two get two 401s, and share one nonce")
  func shared() async throws {
    let bench = try Bench(requests: 2, interceptors: [credentials])
    for _ in 0..<50 { bench.send(try bench.request(), into: responses) }
    while bench.counts.waiting < 48 { await Task.yield() }
    let first = [try await bench.transport.next(), try await bench.transport.next()]
    for (number, exchange) in first.enumerated() {
      #expect(Self.answer(of: exchange) == nil)
      exchange.respond(401, Self.asks("n\(number)"))
    }
    var answers: Set<String> = []
    for _ in 0..<50 {
      let exchange = try await bench.transport.next()
      answers.insert(Self.answer(of: exchange) ?? "none")
      exchange.respond()
    }
    await bench.dispatcher.shutDown()
    #expect(responses.count == 50 && responses.values.allSatisfy { $0.code == nil })
    #expect(answers.count == 50 && Set(answers.map { $0.prefix { $0 != " " } }).count == 1)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a second 401 is the response, and the next request asks again instead of repeating a wrong password")
  func wrong() async throws {
    let bench = try Bench(requests: 1, interceptors: [credentials])
    bench.send(try bench.request(), into: responses)
    try await bench.transport.next().respond(401, Self.asks("n"))
    try await bench.transport.next().respond(401, Self.asks("m"), body: "no")
    await responses.wait(for: 1)
    #expect(try responses.last?.get().text == "no")
    bench.send(try bench.request(), into: responses)
    let next = try await bench.transport.next()
    #expect(Self.answer(of: next) == nil)
    next.respond()
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test("a stale nonce is replaced once: a server for which every nonce is stale has its 401 delivered")
  func stale() async throws {
    let bench = try await bench(knowing: "n")
    bench.send(try bench.request(), into: responses)
    for answer in ["n 00000002 /", "m 00000001 /"] {
      let exchange = try await bench.transport.next()
      #expect(Self.answer(of: exchange) == answer)
      exchange.respond(401, Self.asks(answer.hasPrefix("n") ? "m" : "l", stale: true))
    }
    let last = try await bench.transport.next()
    #expect(Self.answer(of: last) == "l 00000001 /")
    last.respond(401, Self.asks("k", stale: true), body: "stale")
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().text == "stale")
    #expect(await bench.isCleanAtLast())
  }

  @Test("an answer in advance that a restarted server does not know is given again, once")
  func restarted() async throws {
    for isRight in [true, false] {
      let bench = try await bench(knowing: "n")
      bench.send(try bench.request(), into: responses)
      try await bench.transport.next().respond(401, Self.asks("m"))
      let again = try await bench.transport.next()
      #expect(Self.answer(of: again) == "m 00000001 /")
      again.respond(isRight ? 200 : 401, isRight ? [:] : Self.asks("l"))
      await bench.dispatcher.shutDown()
      #expect(try responses.last?.get().statusCode == (isRight ? 200 : 401))
      #expect(await bench.isCleanAtLast())
    }
  }

  @Test("a request that waits for a permit is sent with the nonce that is new by then")
  func waits() async throws {
    let bench = try await bench(knowing: "n")
    bench.send(try bench.request("/1"), into: responses)
    let first = try await bench.transport.next()
    bench.send(try bench.request("/2"), into: responses)
    while bench.counts.waiting < 1 { await Task.yield() }
    first.respond(401, Self.asks("m", stale: true))
    var answers: Set<String> = []
    for _ in 0..<2 {
      let exchange = try await bench.transport.next()
      answers.insert(Self.answer(of: exchange) ?? "none")
      exchange.respond()
    }
    await bench.dispatcher.shutDown()
    #expect(answers.allSatisfy { $0.hasPrefix("m ") } && answers.count == 2)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a second realm of a server is answered too, also if it follows an answer to the first")
  func realms() async throws {
    let bench = try await bench(knowing: "n")
    for nonce in ["m", "l"] {
      bench.send(try bench.request("/s"), into: responses)
      try await bench.transport.next().respond(401, Self.asks(nonce, realm: nonce))
      let again = try await bench.transport.next()
      #expect(Self.answer(of: again) == "\(nonce) 00000001 /s")
      again.respond(401, Self.asks(nonce + "k", realm: "k"))
      let third = try await bench.transport.next()
      #expect(Self.answer(of: third) == "\(nonce)k 00000001 /s")
      third.respond()
    }
    await bench.dispatcher.shutDown()
    #expect(responses.values.map(\.code) == [nil, nil])
    #expect(await bench.isCleanAtLast())
  }

  @Test("a request that waits for a permit keeps its answer to another realm than the new one")
  func keepsRealm() async throws {
    let bench = try await bench(knowing: "n")
    bench.send(try bench.request("/s"), into: responses)
    let first = try await bench.transport.next()
    bench.send(try bench.request("/r"), into: responses)
    while bench.counts.waiting < 1 { await Task.yield() }
    first.respond(401, Self.asks("m", realm: "s"))
    var answers: Set<String> = []
    for _ in 0..<2 {
      let exchange = try await bench.transport.next()
      answers.insert(Self.answer(of: exchange) ?? "none")
      exchange.respond()
    }
    await bench.dispatcher.shutDown()
    #expect(answers == ["m 00000001 /s", "n 00000003 /r"])
    #expect(await bench.isCleanAtLast())
  }

  // MARK: Scope

  @Test("no other server gets an answer, by a redirect or directly; a redirect back is answered")
  func otherPlaces() async throws {
    let bench = try await bench(knowing: "n")
    bench.send(try bench.request(), into: responses)
    let first = try await bench.transport.next()
    #expect(Self.answer(of: first) == "n 00000002 /")
    first.respond(302, [.location: "http://b/"])
    let second = try await bench.transport.next()
    #expect(Self.answer(of: second) == nil)
    second.respond(302, [.location: "http://a/back"])
    let third = try await bench.transport.next()
    #expect(Self.answer(of: third) == "n 00000003 /back")
    third.respond()
    bench.send(try bench.request(host: "b"), into: responses)
    let other = try await bench.transport.next()
    #expect(Self.answer(of: other) == nil)
    other.respond(401, Self.asks("n"))
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().statusCode == 401)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a request with its own Authorization field keeps it", arguments: ["Basic x", "Digest nonce=own"])
  func ownField(_ field: String) async throws {
    let bench = try await bench(knowing: "n")
    var request = try bench.request()
    request.headerFields[.authorization] = field
    bench.send(request, into: responses)
    let exchange = try await bench.transport.next()
    #expect(exchange.request.headerFields[.authorization] == field)
    exchange.respond(401, Self.asks("m"))
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().statusCode == 401)
    #expect(await bench.isCleanAtLast())
  }

  @Test("with a body that can't be sent again, the 401 is the response")
  func bodyOnce() async throws {
    let bench = try Bench(requests: 1, interceptors: [credentials])
    var request = try bench.request()
    request.method = .post
    request.body = RequestBody([1], canBeSentAgain: false)
    bench.send(request, into: responses)
    try await bench.transport.next().respond(401, Self.asks("n"), body: "no")
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().text == "no")
    #expect(await bench.isCleanAtLast())
  }

  @Test("a 401 without a challenge that can be answered, and any other status, is the response")
  func unanswerable() async throws {
    let bench = try Bench(requests: 1, interceptors: [credentials])
    for (status, field) in [
      (401, "Basic realm=r"), (401, "Digest realm=r, nonce=n, algorithm=SHA-512-256"), (403, "Digest realm=r, nonce=n"),
    ] {
      bench.send(try bench.request(), into: responses)
      try await bench.transport.next().respond(status, [.wwwAuthenticate: field])
    }
    await bench.dispatcher.shutDown()
    #expect(try responses.values.map { try $0.get().statusCode } == [401, 401, 403])
    #expect(await bench.isCleanAtLast())
  }
}
