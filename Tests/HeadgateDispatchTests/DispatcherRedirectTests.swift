import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Section I of the cases: redirects.
@Suite struct DispatcherRedirectTests {
  @Test("D76 a redirect returns its permit before it waits for that of the other end-point")
  func neverHoldsBoth() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    bench.send(try bench.request(host: "b"), into: responses)
    let other = try await bench.transport.next()
    let operation = bench.send(try bench.request("/1", host: "a"), into: responses)
    bench.send(try bench.request("/2", host: "a"), into: responses)
    let first = try await bench.transport.next()
    first.respond(302, [.location: "http://b/there"])
    #expect((operation.state, operation.endPoint.host) == (.waiting, "b"))
    // a's permit moved on at once, while the redirected request waits for b's.
    let second = try await bench.transport.next()
    #expect(second.request.url == "http://a/2")
    #expect(bench.counts.waiting == 1)
    other.respond()
    #expect(operation.state == .running)
    let there = try await bench.transport.next()
    #expect(there.request.url == "http://b/there")
    #expect(bench.transport.peak(at: there.request.endPoint) == 1)
    there.respond(body: "found")
    second.respond()
    #expect(bench.isClean())
    #expect(responses.values.contains { (try? $0.get().url) == "http://b/there" && (try? $0.get().text) == "found" })
  }

  @Test("D76 a redirected request waits with the age of its first submission")
  func keepsItsAge() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    bench.send(try bench.request("/old", host: "a"), into: responses)
    for number in 0..<3 { bench.send(try bench.request("/\(number)", host: "b"), into: responses) }
    let old = try await bench.transport.next()
    let running = try await bench.transport.next()
    old.respond(307, [.location: "http://b/old"])
    running.respond()
    #expect(try await bench.transport.next().request.url == "http://b/old")
    await bench.dispatcher.shutDown(.now)
  }

  @Test("D77 two end-points that redirect to each other with one permit each do not deadlock, and the loop ends")
  func loop() async throws {
    let transport = ScriptedTransport { exchange in
      let other = exchange.request.endPoint.host == "a" ? "b" : "a"
      exchange.respond(302, [.location: "http://\(other)/"])
    }
    let bench = try Bench(requests: 1, transport: transport)
    let responses = Responses()
    bench.send(try bench.request(host: "a"), into: responses)
    bench.send(try bench.request(host: "b"), into: responses)
    #expect(responses.values.map(\.code) == [.tooManyRedirects, .tooManyRedirects])
    #expect(bench.isClean())
  }

  @Test("D78 a redirect's short body is drained, a long one closes the connection; requests continue after both")
  func drain() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    let short = try await bench.transport.next()
    #expect(short.head(302, [.location: "/next"]) == .more)
    #expect(short.body(Array(repeating: 1, count: 65_536)) == .more)
    // The permit stays until the old exchange is over.
    #expect(bench.transport.takeStarted() == nil)
    short.end()
    let long = try await bench.transport.next()
    #expect(long.request.url == "http://a/next")
    #expect(long.head(302, [.location: "/last"]) == .more)
    #expect(long.body(Array(repeating: 1, count: 65_537)) == .abort)
    long.end(DispatchError(.cancelled, phase: .receiving))
    let declared = try await bench.transport.next()
    #expect(declared.head(302, [.location: "/last2", .contentLength: "65537"]) == .abort)
    declared.end(DispatchError(.cancelled, phase: .receiving))
    try await bench.transport.next().respond(body: "end")
    #expect(try responses.values.first?.get().text == "end")
    #expect(try responses.values.first?.get().url == "http://a/last2")
    #expect(bench.isClean())
  }

  @Test(
    "a redirect to the same end-point keeps its permit, and takes no second turn",
    arguments: ["http://A:80/moved", "/moved"])
  func samePermit(location: String) async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    bench.send(try bench.request("/1"), into: responses)
    bench.send(try bench.request("/2"), into: responses)
    try await bench.transport.next().respond(301, [.location: location])
    let moved = try await bench.transport.next()
    #expect(moved.request.url == "http://a/moved")
    #expect(bench.transport.takeStarted() == nil)
    moved.respond()
    try await bench.transport.next().respond()
    #expect(responses.count == 2)
    #expect(bench.isClean())
  }

  @Test("with redirects disabled the redirect is delivered as the response, and so is one without a location")
  func handedOver() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    var request = try bench.request()
    request.maxRedirects = 0
    bench.send(request, into: responses)
    try await bench.transport.next().respond(302, [.location: "http://b/"])
    bench.send(try bench.request(), into: responses)
    try await bench.transport.next().respond(302)
    #expect(responses.values.compactMap { try? $0.get().statusCode } == [302, 302])
    // A redirect that is not followed is not listed.
    #expect(try responses.values.allSatisfy { try $0.get().head.redirects == [] })
    #expect(bench.isClean())
  }

  @Test("a cancellation between the old exchange and the new permit ends the request and leaves nothing")
  func cancelledBetween() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    bench.send(try bench.request(host: "b"), into: responses)
    let other = try await bench.transport.next()
    let operation = bench.send(try bench.request(host: "a"), into: responses)
    try await bench.transport.next().respond(302, [.location: "http://b/"])
    operation.cancel()
    #expect(responses.values.map(\.code) == [.cancelled])
    #expect(bench.counts.waiting == 0)
    other.respond()
    #expect(bench.isClean())
  }
}
