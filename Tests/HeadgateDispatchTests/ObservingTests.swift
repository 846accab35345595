import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The calls of observers, for each way that a request can take.
@Suite struct ObservingTests {
  private let recording = RecordingObserver()
  private let responses = Responses()

  private static let once = ["+waiting", "-waiting", "+exchange", "+head"]
  private static let sent = once + ["-head 200", "+body", "-body 200", "-exchange 200"]

  /// The only request's calls, after a check of the rules.
  private func calls(_ place: Int = 0) throws -> [String] {
    #expect(recording.violations == [])
    #expect(recording.unfinished == 0)
    return try #require(recording.requests.dropFirst(place).first).calls
  }

  private func bench(
    requests: Int = 2, waiting: Int = 1000, overflow: OverflowPolicy = .refuse,
    transport: ScriptedTransport = ScriptedTransport()
  ) throws -> Bench {
    try Bench(requests: requests, waiting: waiting, overflow: overflow, transport: transport, observers: [recording])
  }

  @Test("each span of a request is reported with its start and its end, in the order of the tree, with exact times")
  func plain() throws {
    let bench = try bench(requests: 1)
    bench.send(try bench.request("/first"), into: responses)
    bench.send(try bench.request("/second"), into: responses)
    bench.clock.advance(by: .seconds(3))
    (try #require(bench.transport.takeStarted())).respond()
    let second = try #require(bench.transport.takeStarted())
    bench.clock.advance(by: .seconds(2))
    second.head(200)
    bench.clock.advance(by: .seconds(1))
    second.end()
    #expect(try calls(1) == Self.sent + ["-request 200"])
    let request = recording.requests[1]
    let begin = request.start.at
    #expect(request.waits.map { $0.start.at - begin } == [.zero])
    #expect(request.waits.map { $0.start.reason } == [.submission])
    #expect(request.waits.map { $0.end.at - begin } == [.seconds(3)])
    #expect(request.exchanges.map { $0.start.at - begin } == [.seconds(3)])
    #expect(request.exchanges.map { $0.at - begin } == [.seconds(6)])
    #expect(request.exchanges.map(\.start.limit) == [1])
    let end = try #require(request.end)
    #expect(
      (end.times.queued, end.times.total, end.exchanges, end.at - begin) == (.seconds(3), .seconds(6), 1, .seconds(6)))
    #expect(bench.isClean())
  }

  @Test("a request that is refused at once has not waited, and ends")
  func refused() throws {
    let bench = try bench(requests: 1, waiting: 0)
    bench.send(try bench.request(), into: responses)
    bench.send(try bench.request(), into: responses)
    (try #require(bench.transport.takeStarted())).respond()
    #expect(try calls(1) == ["+waiting", "-waiting refused", "-request refused"])
    #expect(recording.requests[1].end?.exchanges == 0)
  }

  @Test("a request that gives way ends in the queue")
  func displaced() throws {
    let bench = try bench(requests: 1, waiting: 1, overflow: .dropOldest)
    for _ in 0..<3 { bench.send(try bench.request(), into: responses) }
    for _ in 0..<2 { (try #require(bench.transport.takeStarted())).respond() }
    #expect(try calls(1) == ["+waiting", "-waiting displaced", "-request displaced"])
  }

  @Test("a cancellation in the queue ends the wait and the request")
  func cancelledInQueue() throws {
    let bench = try bench(requests: 1)
    bench.send(try bench.request(), into: responses)
    bench.send(try bench.request(), into: responses).cancel()
    (try #require(bench.transport.takeStarted())).respond()
    #expect(try calls(1) == ["+waiting", "-waiting cancelled", "-request cancelled"])
  }

  @Test(
    "a cancellation of a running request ends all open spans at that moment; the exchange's own end is not reported")
  func cancelledWhileRunning() throws {
    let bench = try bench(transport: ScriptedTransport(endsWhenCancelled: false))
    let before = bench.send(try bench.request(), into: responses)
    let first = try #require(bench.transport.takeStarted())
    before.cancel()
    #expect(
      try calls() == Self.once + ["-head cancelled", "-exchange cancelled", "-request cancelled"])
    let during = bench.send(try bench.request(), into: responses)
    let second = try #require(bench.transport.takeStarted())
    second.head(206)
    during.cancel()
    #expect(bench.counts.running == 2)
    for exchange in [first, second] { exchange.end(DispatchError(.cancelled, phase: .receiving)) }
    #expect(
      try calls(1) == Self.once + [
        "-head 206", "+body", "-body cancelled 206", "-exchange cancelled 206", "-request cancelled 206",
      ])
    #expect(bench.isClean())
  }

  @Test("a time limit ends whatever is open: the wait, a hopeless wait, the head, the body")
  func limitsOnTime() throws {
    let bench = try bench(requests: 1)
    bench.send(try bench.request(), into: responses)
    var doomed = try bench.request()
    doomed.deadline = .seconds(10)
    bench.send(doomed, into: responses)
    var late = doomed
    late.deadline = .seconds(5)
    bench.send(late, into: responses)
    var slow = try bench.request()
    slow.timeout = .seconds(1)
    bench.send(slow, into: responses)
    bench.clock.advance(by: .milliseconds(9_995))
    (try #require(bench.transport.takeStarted())).respond()
    bench.clock.advance(by: .seconds(2))
    // The second was granted its permit too late, and passed it on to the last.
    #expect(try calls(1) == ["+waiting", "-waiting deadline_exceeded", "-request deadline_exceeded"])
    #expect(try calls(2) == ["+waiting", "-waiting deadline_exceeded", "-request deadline_exceeded"])
    #expect(try calls(3) == Self.once + ["-head timed_out", "-exchange timed_out", "-request timed_out"])
    #expect(bench.isClean())
  }

  @Test("transports that fail or complete inside their start are reported like others")
  func insideStart() throws {
    let failing = try bench(
      transport: ScriptedTransport { $0.end(DispatchError(.connectFailed, phase: .connecting)) })
    failing.send(try failing.request(), into: responses)
    #expect(
      try calls() == Self.once + ["-head connect_failed", "-exchange connect_failed", "-request connect_failed"])
    let quick = try bench(transport: ScriptedTransport { $0.respond() })
    quick.send(try quick.request(), into: responses)
    #expect(try calls(1) == Self.sent + ["-request 200"])
  }

  @Test("a body that its receiver refuses ends with the request's error")
  func refusedBody() throws {
    let bench = try bench()
    var request = try bench.request()
    request.maxBodyBytes = 2
    bench.send(request, into: responses)
    (try #require(bench.transport.takeStarted())).respond(body: "three")
    #expect(
      try calls() == Self.once + [
        "-head 200", "+body", "-body body_too_large 200", "-exchange body_too_large 200", "-request body_too_large 200",
      ])
  }

  @Test("a redirect to the same end-point is another exchange; to another it waits for that one's permit first")
  func redirects() throws {
    let bench = try bench()
    bench.send(try bench.request("/1"), into: responses)
    (try #require(bench.transport.takeStarted())).respond(302, [.location: "/2"])
    (try #require(bench.transport.takeStarted())).respond(307, [.location: "http://b/3"])
    (try #require(bench.transport.takeStarted())).respond()
    let hop = ["+exchange", "+head"]
    #expect(
      try calls() == Self.once + ["-head 302", "+body", "-body 302", "-exchange 302"] + hop + [
        "-head 307", "+body", "-body 307", "-exchange 307",
      ] + Self.sent + ["-request 200"])
    let request = recording.requests[0]
    #expect(request.waits.map { $0.start.endPoint.host } == ["a", "b"])
    #expect(request.waits.map { $0.start.reason } == [.submission, .redirect])
    #expect(request.exchanges.map { $0.start.request.url() } == ["http://a/1", "http://a/2", "http://b/3"])
    #expect(request.exchanges.map { $0.start.resends } == [0, 1, 2])
    #expect(Set(request.exchanges.map { $0.start.request.id }) == [request.start.request.id])
    #expect(request.end?.request.endPoint.host == "b")
  }

  @Test("a retry pauses and waits for a permit again; a cancellation may come during the pause")
  func retries() throws {
    let bench = try bench()
    var request = try bench.request()
    request.retry = RetryPolicy(attempts: 3, backoff: .constant(.seconds(2)), budget: .none)
    let operation = bench.send(request, into: responses)
    (try #require(bench.transport.takeStarted())).end(DispatchError(.connectionLost, phase: .awaitingHead))
    bench.clock.advance(by: .seconds(2))
    (try #require(bench.transport.takeStarted())).respond(503)
    operation.cancel()
    #expect(
      try calls() == Self.once + ["-head connection_lost", "-exchange connection_lost", "+backoff", "-backoff"]
        + Self.once + ["-head 503", "+body", "-body 503", "-exchange 503", "+backoff", "-backoff cancelled"] + [
          "-request cancelled 503"
        ])
    #expect(recording.requests[0].waits.map { $0.start.reason } == [.submission, .retry])
    #expect(bench.isClean())
  }

  @Test("an exchange without a final head has no status")
  func noStatus() throws {
    let bench = try bench()
    bench.send(try bench.request(), into: responses)
    (try #require(bench.transport.takeStarted())).respond(302, [.location: "/there"])
    (try #require(bench.transport.takeStarted())).end(DispatchError(.connectionLost, phase: .awaitingHead))
    #expect(
      try calls().suffix(3) == ["-head connection_lost", "-exchange connection_lost", "-request connection_lost"])
    #expect(recording.requests[0].exchanges.map(\.statusCode) == [302, nil])
    #expect(recording.requests[0].end?.statusCode == nil)
  }

  @Test("a credential causes another exchange under the same permit")
  func credential() async throws {
    let bench = try bench(requests: 1)
    let guest = Guest()
    bench.dispatcher.dispatchShort(try bench.request(), delegate: guest)
    (try await bench.transport.next()).respond(401, [.wwwAuthenticate: #"Basic realm="here""#])
    (try await bench.transport.next()).respond()
    await bench.dispatcher.shutDown(.drain)
    #expect(
      try calls() == Self.once + ["-head 401", "+body", "-body 401", "-exchange 401"] + Self.sent.dropFirst(2) + [
        "-request 200"
      ])
  }

  @Test("the end of a dispatcher ends waiting and running requests, and later submissions")
  func shutDown() throws {
    let bench = try bench(requests: 1)
    for _ in 0..<2 { bench.send(try bench.request(), into: responses) }
    bench.dispatcher.dispose()
    bench.send(try bench.request(), into: responses)
    #expect(try calls(0) == Self.once + ["-head shut_down", "-exchange shut_down", "-request shut_down"])
    #expect(try calls(1) == ["+waiting", "-waiting shut_down", "-request shut_down"])
    #expect(try calls(2) == ["+waiting", "-waiting shut_down", "-request shut_down"])
  }

  @Test("a dispatcher with a shared gate ends a request that never reached the gate without a wait")
  func sharedGate() throws {
    let bench = try bench()
    let other = URLDispatcher(
      transport: ScriptedTransport(), sharing: bench.dispatcher.gate, observers: [recording])
    other.dispose()
    other.dispatch(try bench.request()) { [responses] in responses.add($0) }
    #expect(try calls() == ["-request shut_down"])
  }

  private final class Guest: URLDispatchDelegate {
    func dispatchOperation(
      _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
    ) -> AuthenticationAnswer { .credential(user: "ada", password: "secret") }
  }
}
