import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// A kept connection that turns out to be closed when a request is sent over it.
@Suite struct ClosedConnectionTests {
  private let responses = Responses()

  private func exchange(_ bench: Bench) throws -> ScriptedExchange { try #require(bench.transport.takeStarted()) }

  private func close(_ exchange: ScriptedExchange) {
    exchange.end(DispatchError(.connectionLost, phase: .awaitingHead), connectionWasStale: true)
  }

  @Test(
    "a repeatable request is resent at once, under its permit, on a new connection",
    arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"])
  func repeats(method: String) throws {
    let bench = try Bench(requests: 1)
    var request = try bench.request()
    request.method = try #require(HTTPRequest.Method(rawValue: method))
    bench.send(request, into: responses)
    bench.send(try bench.request("/other"), into: responses)
    let first = try exchange(bench)
    #expect(!first.exchange.needsNewConnection)
    close(first)
    let second = try exchange(bench)
    #expect(second.request.url == "http://a/" && second.request.method == request.method)
    #expect(second.exchange.needsNewConnection)
    #expect(bench.counts.running == 1)
    second.respond(body: "x")
    let response = try #require(try responses.last?.get())
    #expect(response.times.attempts == 2)
    let other = try exchange(bench)
    #expect(!other.exchange.needsNewConnection)
    other.respond()
    #expect(bench.isClean())
  }

  @Test(
    "a request that may not be repeated is not resent, unless it has a key",
    arguments: [HTTPRequest.Method.post, .patch])
  func unsafe(method: HTTPRequest.Method) throws {
    let bench = try Bench()
    var request = try bench.request()
    request.method = method
    request.body = RequestBody("x")
    bench.send(request, into: responses)
    close(try exchange(bench))
    #expect(responses.last?.code == .connectionLost)
    request.headerFields[try #require(HTTPField.Name("Idempotency-Key"))] = "1"
    bench.send(request, into: responses)
    close(try exchange(bench))
    try exchange(bench).respond()
    #expect(responses.last?.code == nil)
    #expect(bench.isClean())
  }

  @Test("a body is resent from its start; the request fails if it can't be read again")
  func bodies() async throws {
    let bench = try Bench()
    var request = try bench.request()
    request.method = .put
    request.body = RequestBody("text")
    bench.send(request, into: responses)
    let first = try exchange(bench)
    #expect(try await first.nextBody(upTo: 2) == Array("te".utf8))
    close(first)
    let second = try exchange(bench)
    #expect(try await second.restOfBody() == Array("text".utf8))
    second.respond()
    #expect(responses.last?.code == nil)
    request.body = RequestBody([1], canBeSentAgain: false)
    bench.send(request, into: responses)
    close(try exchange(bench))
    #expect(responses.last?.code == .connectionLost)
    // The sequence has not been read, so it is still whole.
    request.body = RequestBody(PieceSource { $0 < 1 ? [7] : nil }.sequence)
    bench.send(request, into: responses)
    close(try exchange(bench))
    let third = try exchange(bench)
    #expect(try await third.restOfBody() == [7])
    third.respond()
    #expect(responses.last?.code == nil)
    #expect(await bench.isCleanAtLast())
  }

  @Test("never two such resends in a row, but one for each exchange")
  func once() throws {
    let bench = try Bench()
    bench.send(try bench.request(), into: responses)
    close(try exchange(bench))
    close(try exchange(bench))
    #expect(responses.last?.code == .connectionLost)
    #expect(bench.transport.takeStarted() == nil)
    bench.send(try bench.request(), into: responses)
    close(try exchange(bench))
    try exchange(bench).respond(302, [.location: "/next"])
    let next = try exchange(bench)
    #expect(!next.exchange.needsNewConnection)
    close(next)
    let again = try exchange(bench)
    #expect(again.request.url == "http://a/next" && again.exchange.needsNewConnection)
    again.respond()
    #expect(try responses.last?.get().times.attempts == 3)
    #expect(bench.isClean())
  }

  @Test("resends do not count as redirects")
  func redirectsLeft() throws {
    let bench = try Bench()
    var request = try bench.request()
    request.maxRedirects = 2
    bench.send(request, into: responses)
    for number in 0..<2 {
      close(try exchange(bench))
      try exchange(bench).respond(302, [.location: "/\(number)"])
    }
    try exchange(bench).respond(200)
    #expect(responses.last?.code == nil)
    #expect(bench.isClean())
  }

  @Test("with a policy a resend is one of its attempts, takes nothing from its budget, and does not wait")
  func policy() throws {
    let bench = try Bench()
    let budget = RetryBudget(ratio: 0, reserve: 1)
    var request = try bench.request()
    func send(attempts: Int) {
      request.retry = RetryPolicy(attempts: attempts, backoff: .constant(.seconds(5)), budget: .shared(budget))
      bench.send(request, into: responses)
    }
    send(attempts: 1)
    close(try exchange(bench))
    #expect(responses.last?.code == .connectionLost)
    send(attempts: 2)
    close(try exchange(bench))
    try exchange(bench).respond(503)
    #expect(try responses.last?.get().statusCode == 503)
    send(attempts: 3)
    close(try exchange(bench))
    // On a new connection it is lost like any other: the policy's next attempt comes after its wait.
    close(try exchange(bench))
    #expect(bench.transport.takeStarted() == nil)
    bench.clock.advance(by: .seconds(5))
    try exchange(bench).respond()
    #expect(try responses.last?.get().times.attempts == 3)
    // The reserve is used up. Resends do not need it.
    send(attempts: 3)
    close(try exchange(bench))
    try exchange(bench).end(DispatchError(.connectionLost))
    #expect(responses.last?.code == .connectionLost)
    #expect(bench.isClean())
  }

  @Test("a policy that repeats unsafe methods does so by its own rules, with a wait")
  func unsafePolicy() throws {
    let bench = try Bench()
    var request = try bench.request()
    request.method = .post
    let policy = RetryPolicy(
      attempts: 2, backoff: .constant(.seconds(5)), budget: .none, repeats: .all)
    request.retry = policy
    bench.send(request, into: responses)
    close(try exchange(bench))
    #expect(bench.transport.takeStarted() == nil)
    bench.clock.advance(by: .seconds(5))
    let second = try exchange(bench)
    #expect(!second.exchange.needsNewConnection)
    second.respond()
    #expect(bench.isClean())
  }

  @Test("other failures on a closed connection, and a closed connection after the head, are no reason for a resend")
  func otherFailures() throws {
    let bench = try Bench()
    bench.send(try bench.request(), into: responses)
    try exchange(bench).end(DispatchError(.tlsFailed), connectionWasStale: true)
    #expect(responses.last?.code == .tlsFailed)
    bench.send(try bench.request(), into: responses)
    let begun = try exchange(bench)
    begun.head()
    close(begun)
    #expect(responses.last?.code == .connectionLost)
    #expect(bench.isClean())
  }

  @Test("a cancellation and the deadline end it as usual, and its timeout continues")
  func ends() throws {
    let bench = try Bench()
    var request = try bench.request()
    request.timeout = .seconds(3)
    let operation = bench.send(request, into: responses)
    close(try exchange(bench))
    operation.cancel()
    #expect(responses.last?.code == .cancelled)
    _ = bench.transport.takeStarted()
    bench.send(request, into: responses)
    bench.clock.advance(by: .seconds(2))
    close(try exchange(bench))
    bench.clock.advance(by: .seconds(1))
    #expect(responses.last?.code == .timedOut)
    #expect(responses.last?.error?.ran == .seconds(3))
    _ = bench.transport.takeStarted()
    #expect(bench.isClean())
  }

  @Test("interceptors prepare the request once; it is resent unchanged, and they review the result")
  func intercepted() async throws {
    let hooks = Hooks(prepare: { request, _ in request.headerFields[.authorization] = "prepared" })
    let bench = try Bench(requests: 1, interceptors: [hooks])
    bench.send(try bench.request(), into: responses)
    close(try await bench.transport.next())
    let second = try exchange(bench)
    #expect(second.exchange.needsNewConnection)
    #expect(second.request.headerFields[.authorization] == "prepared")
    #expect(hooks.calls.values == ["prepare 0"])
    second.respond(401)
    let third = try await bench.transport.next()
    #expect(!third.exchange.needsNewConnection)
    close(third)
    try exchange(bench).respond(200)
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(await bench.isCleanAtLast())
  }

  @Test("observers see two exchanges, the second of them as a resend")
  func observed() throws {
    let bench = try Bench()
    bench.send(try bench.request(), into: responses)
    close(try exchange(bench))
    try exchange(bench).respond()
    let told = try #require(bench.recording.requests.last)
    #expect(told.exchanges.map(\.start.resends) == [0, 1])
    #expect(told.exchanges.map(\.error?.code) == [.connectionLost, nil])
    #expect(told.end?.exchanges == 2)
    #expect(told.waits.count == 1)
    #expect(bench.isClean())
  }
}
