import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Authentication challenges of a server.
@Suite struct ChallengeTests {
  /// Answers challenges, and records the other calls.
  private final class Guest: URLDispatchDelegate {
    let calls = Outcomes<String>()
    private let answer: @Sendable (AuthenticationChallenge) -> AuthenticationAnswer

    init(_ answer: @escaping @Sendable (AuthenticationChallenge) -> AuthenticationAnswer) { self.answer = answer }

    func dispatchOperation(
      _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
    ) -> AuthenticationAnswer {
      calls.add("challenge \(challenge.previousFailures)")
      return answer(challenge)
    }

    func dispatchOperation(_ operation: URLDispatchOperation, didReceiveResponse response: ResponseHead) {
      calls.add("response \(response.statusCode) \(operation.response?.statusCode ?? 0)")
    }

    func dispatchOperation(_ operation: URLDispatchOperation, didReceiveData data: [UInt8]) {
      calls.add(String(decoding: data, as: UTF8.self))
    }

    func dispatchOperationDidFinish(_ operation: URLDispatchOperation) { calls.add("finished") }
    func dispatchOperationWasCancelled(_ operation: URLDispatchOperation) { calls.add("cancelled") }
    func dispatchOperation(_ operation: URLDispatchOperation, didFailWith error: DispatchError) {
      calls.add("failed \(error.code)")
    }
  }

  private static let asks: HTTPFields = [.wwwAuthenticate: #"Basic realm="here""#]
  private static let ada = AuthenticationAnswer.credential(user: "ada", password: "secret")

  @Test("a credential resends the request under the same permit, and the challenge response is not delivered")
  func credential() async throws {
    let bench = try Bench(requests: 1)
    let guest = Guest { challenge in
      #expect((challenge.schemes, challenge.realm, challenge.isProxy) == (["basic"], "here", false))
      return Self.ada
    }
    let operation = bench.dispatcher.dispatchShort(try bench.request("/secret"), delegate: guest)
    let others = Listener()
    bench.dispatcher.dispatchShort(try bench.request("/other"), delegate: others)
    let first = try await bench.transport.next()
    #expect(first.request.headerFields[.authorization] == nil)
    first.respond(401, Self.asks, body: "who are you?")
    let second = try await bench.transport.next()
    #expect(second.request.url == "http://a/secret")
    #expect(second.request.headerFields[.authorization] == "Basic YWRhOnNlY3JldA==")
    #expect((bench.counts.running, bench.counts.waiting) == (1, 1))
    second.respond(200, body: "welcome")
    await guest.calls.wait(for: 4)
    #expect(guest.calls.values == ["challenge 0", "response 200 200", "welcome", "finished"])
    #expect(operation.state == .finished)
    try await bench.transport.next().respond()
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("without a credential the challenge response is delivered, with its body", arguments: [1, 2, 3])
  func plain(_ kind: Int) async throws {
    let bench = try Bench(requests: 1)
    let answer: AuthenticationAnswer
    switch kind {
    case 1: answer = .default
    // Not offered by the server, so no password is sent.
    case 2: answer = Self.ada
    default: answer = .bearer("token")
    }
    let guest = Guest { _ in answer }
    let operation = bench.dispatcher.dispatchShort(try bench.request(), delegate: guest)
    try await bench.transport.next().respond(
      401, [.wwwAuthenticate: #"Digest realm="x", nonce="Basic , y""#], body: "no")
    await guest.calls.wait(for: 4)
    #expect(guest.calls.values == ["challenge 0", "response 401 401", "no", "finished"])
    #expect((operation.state, operation.response?.statusCode) == (.finished, 401))
    #expect(bench.isClean())
  }

  @Test("the answer `cancel` cancels the request")
  func cancel() async throws {
    let bench = try Bench(requests: 1)
    let guest = Guest { _ in .cancel }
    let operation = bench.dispatcher.dispatchShort(try bench.request(), delegate: guest)
    let exchange = try await bench.transport.next()
    exchange.head(401, Self.asks)
    try await exchange.cancelled.wait()
    await guest.calls.wait(for: 2)
    #expect(guest.calls.values == ["challenge 0", "cancelled"])
    #expect(operation.state == .cancelled)
    #expect(bench.isClean())
  }

  @Test("a proxy is answered in its own field, and a delegate without an answer gets the response")
  func proxy() async throws {
    let bench = try Bench(requests: 1)
    let guest = Guest { challenge in
      #expect(challenge.isProxy)
      return .authorization("Own scheme")
    }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: guest)
    try await bench.transport.next().respond(407, [.proxyAuthenticate: "Own"])
    let again = try await bench.transport.next()
    #expect(again.request.headerFields[.proxyAuthorization] == "Own scheme")
    #expect(again.request.headerFields[.authorization] == nil)
    again.respond()
    await guest.calls.wait(for: 3)

    let careless = Listener()
    bench.dispatcher.dispatchShort(try bench.request(), delegate: careless)
    try await bench.transport.next().respond(401, Self.asks)
    await careless.calls.wait(for: 2)
    #expect(careless.heard == ["response 401", "finished"])
    // A status without a challenge is a response.
    let unasked = Guest { _ in Self.ada }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: unasked)
    try await bench.transport.next().respond(401)
    await unasked.calls.wait(for: 2)
    #expect(unasked.calls.values == ["response 401 401", "finished"])
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("a credential does not count as a redirect")
  func redirects() async throws {
    let bench = try Bench(requests: 1)
    let guest = Guest { _ in Self.ada }
    var request = try bench.request()
    request.maxRedirects = 1
    bench.dispatcher.dispatchShort(request, delegate: guest)
    try await bench.transport.next().respond(401, Self.asks)
    try await bench.transport.next().respond(302, [.location: "/new"])
    let last = try await bench.transport.next()
    #expect(last.request.url == "http://a/new")
    last.respond()
    await bench.dispatcher.shutDown(.drain)
    #expect(guest.calls.values == ["challenge 0", "response 200 200", "finished"])
    #expect(bench.isClean())
  }

  @Test("a server that accepts no credential is given five")
  func endless() async throws {
    let bench = try Bench(requests: 1)
    let guest = Guest { _ in Self.ada }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: guest)
    for number in 0..<6 {
      let exchange = try await bench.transport.next()
      exchange.respond(401, Self.asks, body: "no")
      if number == 4 { await guest.calls.wait(for: 5) }
    }
    await guest.calls.wait(for: 8)
    #expect(guest.calls.values == (0..<5).map { "challenge \($0)" } + ["response 401 401", "no", "finished"])
    #expect(bench.isClean())
  }

  @Test("the permit is held while the answer is awaited, and any end of the request returns it once")
  func endsMeanwhile() async throws {
    for way in 0..<4 {
      let bench = try Bench(requests: 1)
      let (inside, release) = (Gate(), Gate())
      let guest = Guest { _ in
        inside.open()
        block(until: release)
        return Self.ada
      }
      var request = try bench.request()
      request.timeout = .seconds(5)
      request.idleTimeout = .seconds(1)
      let operation = bench.dispatcher.dispatchShort(request, delegate: guest)
      try await bench.transport.next().respond(401, Self.asks, body: "who?")
      await inside.waitRegardless()
      bench.clock.advance(by: .seconds(4))
      #expect((operation.state, bench.counts.running) == (.running, 1))
      switch way {
      case 0: operation.cancel()
      case 1: bench.clock.advance(by: .seconds(1))
      case 2: bench.dispatcher.dispose()
      default: break
      }
      #expect(bench.counts.running == (way == 3 ? 1 : 0))
      release.open()
      if way == 3 { try await bench.transport.next().respond() }
      await bench.dispatcher.shutDown(.drain)
      let last = ["cancelled", "failed timed_out", "failed shut_down", "finished"]
      #expect(guest.calls.last == last[way])
      #expect(bench.transport.takeStarted() == nil)
      #expect(bench.isClean())
    }
  }

  @Test("an answer during the body of the challenge skips the rest of it, and then resends the request")
  func answerBeforeEnd() async throws {
    let bench = try Bench(requests: 1)
    let (inside, release) = (Gate(), Gate())
    let guest = Guest { _ in
      inside.open()
      block(until: release)
      return Self.ada
    }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: guest)
    let first = try await bench.transport.next()
    first.head(401, Self.asks)
    try await inside.wait()
    // The body is kept as long as it may be the request's, and then paused. The answer resumes it.
    #expect(first.body([UInt8](repeating: 1, count: 256 * 1024)) == .pause)
    release.open()
    try await first.resumed.wait()
    #expect(first.body([2]) == .more)
    #expect(bench.transport.takeStarted() == nil)
    #expect(first.body([UInt8](repeating: 1, count: 70_000)) == .abort)
    first.end(DispatchError(.cancelled))
    try await bench.transport.next().respond(body: "in")
    await bench.dispatcher.shutDown(.drain)
    #expect(guest.calls.values == ["challenge 0", "response 200 200", "in", "finished"])
    #expect(bench.isClean())
  }

  @Test("with a body that can't be sent again, a credential is an error")
  func notAgain() async throws {
    let bench = try Bench(requests: 1)
    let guest = Guest { _ in Self.ada }
    var request = try bench.request()
    request.method = .post
    request.body = RequestBody([1, 2, 3], canBeSentAgain: false)
    bench.dispatcher.dispatchShort(request, delegate: guest)
    try await bench.transport.next().respond(401, Self.asks)
    await bench.dispatcher.shutDown(.drain)
    #expect(guest.calls.values == ["challenge 0", "failed body_not_replayable"])
    #expect(bench.isClean())
  }

  @Test("a long request's timeout runs until the head of the final response")
  func longTimeout() async throws {
    let bench = try Bench(requests: 2, long: 1)
    let guest = Guest { challenge in challenge.realm == "here" ? Self.ada : .default }
    var request = try bench.request()
    request.timeout = .seconds(5)
    let operation = try bench.dispatcher.dispatchLong(request, delegate: guest)
    try await bench.transport.next().respond(401, Self.asks)
    let second = try await bench.transport.next()
    #expect(bench.clock.pendingCount == 1)
    second.head(401, [.wwwAuthenticate: "Basic realm=there"])
    await guest.calls.wait(for: 3)
    #expect(bench.clock.pendingCount == 0)
    bench.clock.advance(by: .seconds(5))
    #expect(operation.state == .running)
    second.end()
    await bench.dispatcher.shutDown(.drain)
    #expect(guest.calls.values == ["challenge 0", "challenge 1", "response 401 401", "finished"])
    #expect(bench.isClean())
  }

  @Test(
    "all valid forms of a challenge are parsed",
    arguments: [
      (#"Basic realm="a""#, ["basic"], "a"),
      (#"basic   Realm = a , Digest nonce="x, Bearer", realm="b""#, ["basic", "digest"], "a"),
      (#"Negotiate, NTLM"#, ["negotiate", "ntlm"], nil),
      (#"Bearer error="x", Basic realm="a \"b\" c""#, ["bearer", "basic"], #"a "b" c"#),
      (#"Negotiate YWJj==, Basic"#, ["negotiate", "basic"], nil),
      (#", ,Basic realm="open"#, ["basic"], "open"),
      (#"Basic realm="""#, ["basic"], ""),
    ] as [(String, [String], String?)])
  func offers(_ field: String, _ schemes: [String], _ realm: String?) async throws {
    let bench = try Bench(requests: 1)
    let seen = Outcomes<AuthenticationChallenge>()
    let guest = Guest { challenge in
      seen.add(challenge)
      return .default
    }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: guest)
    try await bench.transport.next().respond(401, [.wwwAuthenticate: field])
    await bench.dispatcher.shutDown(.drain)
    #expect((seen.last?.schemes, seen.last?.realm) == (schemes, realm))
  }

  @Test("a field without an offer is not a challenge", arguments: ["", " , ", #"realm="x""#, "=", "= ="])
  func noOffers(_ field: String) async throws {
    let bench = try Bench(requests: 1)
    let guest = Guest { _ in Self.ada }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: guest)
    try await bench.transport.next().respond(401, [.wwwAuthenticate: field])
    await bench.dispatcher.shutDown(.drain)
    #expect(guest.calls.values == ["response 401 401", "finished"])
  }
}
