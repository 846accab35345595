import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The effect of interceptors on requests.
@Suite struct InterceptorTests {
  private let responses = Responses()

  private func bench(_ interceptors: any RequestInterceptor..., requests: Int = 1) throws -> Bench {
    try Bench(requests: requests, interceptors: interceptors)
  }

  @Test("requests are prepared by all in order, responses reviewed in reverse order until one asks for a resend")
  func order() async throws {
    let calls = Outcomes<String>()
    let first = Hooks("1 ", calls: calls) { request, _ in request.headerFields[.accept] = "1" }
    let second = Hooks("2 ", calls: calls) { request, _ in
      request.headerFields[.accept]?.append("2")
    } review: { _, _ in
      .resend
    }
    let third = Hooks("3 ", calls: calls) { _, _ in
    } review: { _, _ in
      .deliver
    }
    let bench = try bench(first, second, third)
    bench.send(try bench.request(), into: responses)
    let exchange = try await bench.transport.next()
    #expect(exchange.request.headerFields[.accept] == "12")
    exchange.respond(401)
    let again = try await bench.transport.next()
    // Each preparation starts from the original request, so nothing accumulates.
    #expect(again.request.headerFields[.accept] == "12")
    again.respond(204)
    await bench.dispatcher.shutDown()
    let round = ["1 prepare", "2 prepare", "3 prepare"]
    #expect(
      calls.values == round.map { $0 + " 0" } + ["3 review status 401", "2 review status 401"]
        + ["1 prepare 0", "2 prepare 1", "3 prepare 0"])
    #expect(try responses.last?.get().statusCode == 204)
    #expect(await bench.isCleanAtLast())
  }

  @Test("no permit is held while a request is prepared: others of its end-point run")
  func preparesWithoutPermit() async throws {
    let (inside, goesOn) = (Gate(), Gate())
    let slow = Hooks { request, _ in
      guard request.url.hasSuffix("slow") else { return }
      inside.open()
      await goesOn.waitRegardless()
    }
    let bench = try bench(slow)
    let operation = bench.send(try bench.request("/slow"), into: responses)
    try await inside.wait()
    #expect((operation.state, bench.counts.running, bench.counts.waiting) == (.waiting, 0, 0))
    bench.send(try bench.request("/other"), into: responses)
    try await bench.transport.next().respond()
    #expect(responses.count == 1)
    goesOn.open()
    try await bench.transport.next().respond()
    await bench.dispatcher.shutDown()
    #expect(responses.count == 2)
    #expect(await bench.isCleanAtLast())
  }

  @Test("no permit is held while a response is reviewed, and a resend precedes later requests")
  func reviewsWithoutPermit() async throws {
    let goesOn = Gate()
    let slow = Hooks(review: { _, _ in
      await goesOn.waitRegardless()
      return .resend
    })
    let bench = try bench(slow)
    bench.send(try bench.request("/1"), into: responses)
    let first = try await bench.transport.next()
    bench.clock.advance(by: .seconds(1))
    bench.send(try bench.request("/2"), into: responses)
    bench.send(try bench.request("/3"), into: responses)
    await slow.calls.wait(for: 3)
    first.respond(401)
    // Whichever of the two was prepared first runs now. The resend precedes the other.
    let second = try await bench.transport.next()
    #expect(second.request.url != "http://a/1")
    await slow.calls.wait(for: 4)
    #expect(bench.counts.running == 1)
    bench.clock.advance(by: .seconds(1))
    goesOn.open()
    await slow.calls.wait(for: 5)
    while bench.counts.waiting < 2 { await Task.yield() }
    second.respond()
    let third = try await bench.transport.next()
    #expect(third.request.url == "http://a/1")
    third.respond()
    try await bench.transport.next().respond()
    await bench.dispatcher.shutDown()
    #expect(responses.count == 3)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a request that is outdated when it gets its permit is prepared once more, and then sent")
  func outdated() async throws {
    let isOutdated = LockedBox(false)
    let interceptor = Hooks(outdated: { isOutdated.withLock { $0 } })
    let bench = try bench(interceptor)
    bench.send(try bench.request("/1"), into: responses)
    let first = try await bench.transport.next()
    bench.send(try bench.request("/2"), into: responses)
    await interceptor.calls.wait(for: 2)
    while bench.counts.waiting < 1 { await Task.yield() }
    isOutdated.withLock { $0 = true }
    first.respond()
    let second = try await bench.transport.next()
    #expect(interceptor.calls.count == 3)
    second.respond(302, [.location: "/3"])
    // An outdated preparation counts neither as a redirect nor as an attempt.
    try await bench.transport.next().respond()
    await bench.dispatcher.shutDown()
    #expect(bench.recording.requests.last?.exchanges.map(\.start.resends) == [0, 1])
    #expect(await bench.isCleanAtLast())
  }

  @Test("an interceptor has a request sent again at most five times; then the response is delivered")
  func bounded() async throws {
    let stubborn = Hooks()
    let bench = try bench(stubborn)
    bench.send(try bench.request(), into: responses)
    for _ in 0..<6 { try await bench.transport.next().respond(401, body: "no") }
    await bench.dispatcher.shutDown()
    let response = try #require(try responses.last?.get())
    #expect((response.statusCode, response.text) == (401, "no"))
    #expect(stubborn.calls.values.filter { $0.hasPrefix("review") }.count == 5)
    #expect(await bench.isCleanAtLast())
  }

  @Test("an accepted response is delivered unchanged: head, body, trailers, or the failure")
  func deliver() async throws {
    let mild = Hooks(review: { _, _ in .deliver })
    let bench = try bench(mild, requests: 2)
    bench.send(try bench.request(), into: responses)
    let whole = try await bench.transport.next()
    #expect(whole.head(401, [.server: "x"]) == .more)
    #expect(whole.body(Array("one ".utf8)) == .more)
    #expect(whole.body(Array("two".utf8)) == .more)
    whole.trailers([.eTag: "y"])
    #expect(responses.count == 0)
    whole.end()
    await responses.wait(for: 1)
    let response = try #require(try responses.last?.get())
    #expect((response.statusCode, response.headerFields[.server], response.text) == (401, "x", "one two"))
    #expect(response.trailers[.eTag] == "y")
    bench.send(try bench.request(), into: responses)
    let broken = try await bench.transport.next()
    broken.head(401)
    broken.end(DispatchError(.connectionLost))
    await responses.wait(for: 2)
    #expect(responses.last?.code == .connectionLost)
    // A response that no interceptor reviews is delivered directly.
    bench.send(try bench.request(), into: responses)
    try await bench.transport.next().respond(403)
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().statusCode == 403)
    #expect(mild.calls.values.filter { $0.hasPrefix("review") }.count == 2)
    #expect(await bench.isCleanAtLast())
  }

  @Test(
    "at most a quarter of a megabyte of a reviewed response is kept; a body that is too long to keep does not count",
    arguments: [true, false])
  func large(resends: Bool) async throws {
    let interceptor = Hooks(review: { _, _ in resends ? .resend : .deliver })
    let bench = try bench(interceptor)
    bench.send(try bench.request(), into: responses)
    let exchange = try await bench.transport.next()
    exchange.head(401)
    let bodies = bench.dispatcher.core.bodies
    #expect(exchange.body([UInt8](repeating: 1, count: 256 * 1024)) == .more && bodies.bytes == 256 * 1024)
    #expect(exchange.body([1]) == .abort && bodies.bytes == 0)
    exchange.end(DispatchError(.cancelled, phase: .receiving))
    if resends { try await bench.transport.next().respond() }
    await bench.dispatcher.shutDown()
    #expect(responses.values.map(\.code) == [resends ? nil : .bodyTooLarge])
    #expect(await bench.isCleanAtLast())
  }

  @Test("a failure may be reviewed like a response", arguments: [true, false])
  func failure(resends: Bool) async throws {
    let interceptor = Hooks(
      interest: { response, interception in response.error?.code == .connectFailed && interception.resends == 0 },
      review: { response, interception in
        guard resends else { return .deliver }
        var other = interception.unprepared
        other.headerFields[.accept] = "other"
        return .resend(other)
      })
    let bench = try bench(interceptor)
    bench.send(try bench.request(), into: responses)
    try await bench.transport.next().end(DispatchError(.connectFailed))
    if resends {
      let again = try await bench.transport.next()
      #expect(again.request.headerFields[.accept] == "other")
      again.end(DispatchError(.connectFailed))
    }
    await bench.dispatcher.shutDown()
    #expect(responses.values.map(\.code) == [.connectFailed])
    #expect(await bench.isCleanAtLast())
  }

  @Test("an error thrown by an interceptor ends the request with an error that says so", arguments: [true, false])
  func throwing(atOnce: Bool) async throws {
    let interceptor = Hooks { _, _ in
      if atOnce { throw Mishap() }
    } review: { _, _ in
      throw Mishap()
    }
    let bench = try bench(interceptor)
    bench.send(try bench.request(), into: responses)
    if !atOnce { try await bench.transport.next().respond(401) }
    await responses.wait(for: 1)
    let error = try #require(responses.last?.error)
    #expect((error.code, error.phase) == (.interceptorFailed, .intercepting))
    #expect(error.underlyingError as? Mishap == Mishap())
    #expect(error.endPoint?.host == "a")
    #expect("\(error)".contains("Mishap"))
    await bench.dispatcher.shutDown()
    #expect(bench.transport.takeStarted() == nil)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a redirect is prepared again, and added fields do not go to another origin")
  func redirects() async throws {
    let key = try #require(HTTPField.Name("X-Key"))
    let interceptor = Hooks { request, _ in
      if request.endPoint.host == "a" {
        request.headerFields[key] = "secret of \(request.url)"
        request.headerFields[.authorization] = "secret"
      }
    }
    let bench = try bench(interceptor)
    var request = try bench.request("/1")
    request.headerFields[.accept] = "own"
    request.maxRedirects = 2
    bench.send(request, into: responses)
    let first = try await bench.transport.next()
    #expect(first.request.headerFields[key] == "secret of http://a/1")
    first.respond(302, [.location: "/2"])
    let second = try await bench.transport.next()
    #expect(second.request.headerFields[key] == "secret of http://a/2")
    second.respond(302, [.location: "http://b/"])
    let third = try await bench.transport.next()
    #expect(third.request.headerFields == [.accept: "own"])
    third.respond()
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().url == "http://b/")
    #expect(interceptor.calls.count == 3)
    #expect(await bench.isCleanAtLast())
  }

  @Test("an interceptor may send a request elsewhere: it waits for the permit there, and redirects are relative to it")
  func elsewhere() async throws {
    let interceptor = Hooks { request, _ in
      if request.endPoint.host == "a" { request = try DispatchRequest("http://mirror/x/") }
    }
    let bench = try bench(interceptor)
    var request = try bench.request()
    request.headerFields[.authorization] = "for a"
    let operation = bench.send(request, into: responses)
    let exchange = try await bench.transport.next()
    #expect(exchange.request.url == "http://mirror/x/")
    #expect(operation.endPoint.host == "mirror")
    exchange.respond(302, [.location: "y"])
    let next = try await bench.transport.next()
    #expect(next.request.url == "http://mirror/x/y")
    next.respond(302, [.location: "http://c/"])
    let last = try await bench.transport.next()
    #expect(last.request.headerFields[.authorization] == nil)
    last.respond()
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test("each retry is prepared again, and precedes reviews")
  func retries() async throws {
    let interceptor = Hooks(interest: { response, _ in response.statusCode == 503 }, review: { _, _ in .deliver })
    let bench = try bench(interceptor)
    var request = try bench.request()
    request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(2)), budget: .none)
    request.maxRedirects = 1
    bench.send(request, into: responses)
    try await bench.transport.next().respond(503)
    bench.clock.advance(by: .seconds(2))
    // Neither a retry nor a review counts as a redirect.
    try await bench.transport.next().respond(302, [.location: "/2"])
    try await bench.transport.next().respond(503, body: "no")
    await bench.dispatcher.shutDown()
    let response = try #require(try responses.last?.get())
    #expect((response.statusCode, response.text, response.times.attempts) == (503, "no", 2))
    #expect(interceptor.calls.values == ["prepare 0", "prepare 0", "prepare 0", "review status 503"])
    #expect(await bench.isCleanAtLast())
  }

  @Test("a response to be reviewed is not a failure to retry, however its body ends")
  func brokenOff() async throws {
    let bench = try bench(Hooks(review: { _, _ in .deliver }))
    var request = try bench.request()
    request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(2)), budget: .none)
    bench.send(request, into: responses)
    let exchange = try await bench.transport.next()
    exchange.head(401)
    exchange.end(DispatchError(.connectionLost))
    await bench.dispatcher.shutDown()
    #expect(responses.values.map(\.code) == [.connectionLost])
    #expect(responses.last?.error?.ran == .zero)
    #expect(await bench.isCleanAtLast())
  }

  @Test("with a body that can't be sent again the response is delivered without a review; others are sent twice")
  func bodies() async throws {
    let interceptor = Hooks()
    let bench = try bench(interceptor)
    var request = try bench.request()
    request.method = .post
    request.body = RequestBody([1, 2], canBeSentAgain: false)
    bench.send(request, into: responses)
    try await bench.transport.next().respond(401, body: "no")
    await responses.wait(for: 1)
    #expect(try responses.last?.get().statusCode == 401)
    #expect(interceptor.calls.values == ["prepare 0"])
    request.body = RequestBody([1, 2])
    bench.send(request, into: responses)
    for status in [401, 200] {
      let exchange = try await bench.transport.next()
      #expect(try await exchange.restOfBody() == [1, 2])
      exchange.respond(status)
    }
    await bench.dispatcher.shutDown()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(await bench.isCleanAtLast())
  }

  @Test("an interceptor may add a body to a request")
  func givesBody() async throws {
    let bench = try bench(
      Hooks { request, _ in
        request.method = .put
        request.body = RequestBody(length: 3, replayable: { One(bytes: [7, 8, 9]) })
      })
    bench.send(try bench.request(), into: responses)
    let exchange = try await bench.transport.next()
    #expect(try await exchange.restOfBody() == [7, 8, 9])
    exchange.respond()
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  private struct One: AsyncSequence, AsyncIteratorProtocol, Sendable {
    var bytes: [UInt8]?
    func makeAsyncIterator() -> One { self }
    mutating func next() async -> [UInt8]? { bytes.take() }
  }

  @Test("of several heads of one exchange the last is reviewed")
  func heads() async throws {
    let interceptor = Hooks(review: { _, _ in .deliver })
    let bench = try bench(interceptor)
    bench.send(try bench.request(), into: responses)
    let exchange = try await bench.transport.next()
    exchange.head(401)
    exchange.body([1])
    exchange.respond(200, body: "x")
    await bench.dispatcher.shutDown()
    let response = try #require(try responses.last?.get())
    #expect((response.statusCode, response.text) == (200, "x"))
    #expect(interceptor.calls.values == ["prepare 0"])
    #expect(await bench.isCleanAtLast())
  }

  @Test("observers are told each time that interceptors work on a request")
  func spans() async throws {
    let bench = try bench(Hooks(), requests: 1)
    bench.send(try bench.request(), into: responses)
    try await bench.transport.next().respond(401)
    try await bench.transport.next().respond()
    await bench.dispatcher.shutDown()
    let request = try #require(bench.recording.requests.first)
    let sent = ["-intercepting", "+waiting", "-waiting", "+exchange", "+head"]
    #expect(
      request.calls == ["+intercepting"] + sent + ["-head 401", "+body", "-body 401", "-exchange 401"]
        + ["+intercepting"] + sent + ["-head 200", "+body", "-body 200", "-exchange 200", "-request 200"])
    #expect(request.waits.map(\.start.reason) == [.submission, .interceptor])
    #expect(request.exchanges.map(\.start.resends) == [0, 1])
    #expect(await bench.isCleanAtLast())
  }
}
