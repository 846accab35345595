import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The ends of a request while interceptors work on it, for every way of submitting it.
@Suite struct InterceptorEndTests {
  private let responses = Responses()

  /// Keeps a request in preparation or review until its task is cancelled.
  private static func holder(_ place: String, _ inside: Gate, _ cancelled: Gate) -> Hooks {
    @Sendable func hold() async throws {
      inside.open()
      defer { cancelled.open() }
      try await untilCancelled()
    }
    return Hooks { _, _ in
      if place == "prepare" { try await hold() }
    } review: { _, _ in
      try await hold()
      return .resend
    }
  }

  /// The bench's dispatcher, or another one that shares its gate, with the same interceptor.
  private static func dispatcher(
    of bench: Bench, _ interceptor: Hooks, isShared: Bool
  ) -> (URLDispatcher, ScriptedTransport) {
    guard isShared else { return (bench.dispatcher, bench.transport) }
    let transport = ScriptedTransport()
    return (
      URLDispatcher(transport: transport, sharing: bench.dispatcher.gate, interceptors: [interceptor]), transport
    )
  }

  @Test(
    "a cancellation takes effect at once while interceptors work, by handle, tag or end-point, and cancels their task",
    arguments: ["prepare", "review"], [0, 1, 2])
  func cancel(place: String, way: Int) async throws {
    let (inside, cancelled) = (Gate(), Gate())
    let bench = try Bench(requests: 1, interceptors: [Self.holder(place, inside, cancelled)])
    var request = try bench.request()
    request.tag = "t"
    let operation = bench.send(request, into: responses)
    if place == "review" { try await bench.transport.next().respond(401) }
    try await inside.wait()
    #expect((operation.state, bench.counts.running) == (.waiting, 0))
    switch way {
    case 0: operation.cancel()
    case 1: #expect(bench.dispatcher.cancelAll(tag: "t") == 1)
    default: #expect(bench.dispatcher.cancelAll(to: request.endPoint) == 1)
    }
    #expect(responses.values.map(\.code) == [.cancelled])
    #expect(responses.last?.error?.phase == .intercepting)
    try await cancelled.wait()
    #expect(bench.dispatcher.gate.outside.isEmpty)
    await bench.dispatcher.shutDown()
    #expect(bench.transport.takeStarted() == nil)
    #expect(responses.count == 1)
    #expect(await bench.isCleanAtLast())
  }

  @Test("the deadline includes the work of interceptors, the timeout does not", arguments: ["prepare", "review"])
  func time(place: String) async throws {
    let (inside, cancelled) = (Gate(), Gate())
    let bench = try Bench(requests: 1, interceptors: [Self.holder(place, inside, cancelled)])
    var request = try bench.request()
    (request.timeout, request.deadline, request.idleTimeout) = (.seconds(3), .seconds(10), .seconds(2))
    bench.send(request, into: responses)
    if place == "review" { try await bench.transport.next().respond(401) }
    try await inside.wait()
    bench.clock.advance(by: .seconds(9))
    #expect(responses.count == 0)
    bench.clock.advance(by: .seconds(1))
    #expect(responses.values.map(\.code) == [.deadlineExceeded])
    try await cancelled.wait()
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test("the timeout continues from its previous value once a request is sent again")
  func timeoutGoesOn() async throws {
    let (inside, goesOn) = (Gate(), Gate())
    let interceptor = Hooks(review: { _, _ in
      inside.open()
      await goesOn.waitRegardless()
      return .resend
    })
    let bench = try Bench(requests: 1, interceptors: [interceptor])
    var request = try bench.request()
    request.timeout = .seconds(3)
    bench.send(request, into: responses)
    let first = try await bench.transport.next()
    bench.clock.advance(by: .seconds(2))
    first.respond(401)
    try await inside.wait()
    bench.clock.advance(by: .seconds(60))
    goesOn.open()
    _ = try await bench.transport.next()
    try await bench.clock.timers(1)
    bench.clock.advance(by: .milliseconds(999))
    #expect(responses.count == 0)
    bench.clock.advance(by: .milliseconds(1))
    #expect(responses.values.map(\.code) == [.timedOut])
    #expect(responses.last?.error?.ran == .seconds(3))
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test(
    "a draining dispatcher finishes the requests that interceptors work on",
    arguments: ["prepare", "review", "redirect"],
    [true, false])
  func drain(place: String, shares: Bool) async throws {
    let (inside, goesOn) = (Gate(), Gate())
    let first = LockedBox(true)
    @Sendable func hold() async {
      inside.open()
      await goesOn.waitRegardless()
    }
    let interceptor = Hooks { request, _ in
      let isFirst = first.withLock { value in
        defer { value = false }
        return value
      }
      if isFirst != (place == "redirect"), place != "review" { await hold() }
    } review: { _, _ in
      await hold()
      return .resend
    }
    let bench = try Bench(requests: 1, interceptors: [interceptor])
    let (dispatcher, transport) = Self.dispatcher(of: bench, interceptor, isShared: shares)
    dispatcher.dispatch(try bench.request()) { [responses] in responses.add($0) }
    if place == "review" { try await transport.next().respond(401) }
    if place == "redirect" { try await transport.next().respond(302, [.location: "/2"]) }
    try await inside.wait()
    dispatcher.beginShutDown(.drain)
    #expect(responses.count == 0)
    #expect(!transport.isShutDown)
    goesOn.open()
    try await transport.next().respond(200)
    await dispatcher.shutDown(.drain)
    #expect(try responses.last?.get().statusCode == 200)
    #expect(transport.violations == [])
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test(
    "other shutdowns end them at once, also at a gate that stays open",
    arguments: [ShutdownMode.graceful, .now], ["prepare", "review"])
  func shutDown(mode: ShutdownMode, place: String) async throws {
    for shares in [false, true] {
      let (inside, cancelled) = (Gate(), Gate())
      let interceptor = Self.holder(place, inside, cancelled)
      let bench = try Bench(requests: 1, interceptors: [interceptor])
      let (dispatcher, transport) = Self.dispatcher(of: bench, interceptor, isShared: shares)
      let results = Responses()
      dispatcher.dispatch(try bench.request()) { results.add($0) }
      if place == "review" { try await transport.next().respond(401) }
      await inside.waitRegardless()
      await dispatcher.shutDown(mode)
      #expect(results.values.map(\.code) == [.shutDown])
      await cancelled.waitRegardless()
      await bench.dispatcher.shutDown()
      #expect(await bench.isCleanAtLast())
    }
  }

  @Test(
    "once a gate or its dispatcher ends waiting requests, a response is no longer reviewed: it is delivered",
    arguments: [false, true])
  func ending(isShared: Bool) async throws {
    let interceptor = Hooks()
    let bench = try Bench(requests: 1, interceptors: [interceptor])
    let (dispatcher, transport) = Self.dispatcher(of: bench, interceptor, isShared: isShared)
    dispatcher.dispatch(try bench.request()) { [responses] in responses.add($0) }
    let exchange = try await transport.next()
    dispatcher.beginShutDown(.graceful)
    exchange.respond(401, body: "no")
    await dispatcher.shutDown(.graceful)
    let response = try #require(try responses.last?.get())
    #expect((response.statusCode, response.text) == (401, "no"))
    #expect(interceptor.calls.values == ["prepare 0"])
    #expect(await bench.isCleanAtLast())
  }

  @Test("requests of an interceptor bypass all interceptors, under the same limit, and while the dispatcher drains")
  func sends() async throws {
    let inside = Gate()
    let goesOn = Gate()
    let interceptor = Hooks { request, interception in
      inside.open()
      await goesOn.waitRegardless()
      let answer = try await interception.send(try DispatchRequest("http://a/token"))
      request.headerFields[.accept] = answer.text
    }
    let bench = try Bench(requests: 1, interceptors: [interceptor])
    bench.send(try bench.request(), into: responses)
    try await inside.wait()
    bench.dispatcher.beginShutDown(.drain)
    goesOn.open()
    let token = try await bench.transport.next()
    #expect(token.request.url == "http://a/token")
    #expect(bench.counts.running == 1)
    token.respond(body: "t")
    let exchange = try await bench.transport.next()
    #expect(exchange.request.headerFields[.accept] == "t")
    exchange.respond()
    await bench.dispatcher.shutDown()
    #expect(interceptor.calls.values == ["prepare 0"])
    #expect(responses.values.map(\.code) == [nil])
    #expect(await bench.isCleanAtLast())
  }

  @Test(
    "a dispatcher with a shared gate sends for its interceptors while it drains, and not after it is empty",
    arguments: [false, true])
  func sendsWhileSharedDrains(isObserved: Bool) async throws {
    let (inside, goesOn) = (Gate(), Gate())
    let kept = LockedBox<Interception?>(nil)
    let interceptor = Hooks { request, interception in
      kept.withLock { $0 = interception }
      inside.open()
      await goesOn.waitRegardless()
      request.headerFields[.accept] = try await interception.send(try DispatchRequest("http://a/token")).text
    }
    let bench = try Bench(requests: 1)
    // Answers at once, so that a surplus request succeeds.
    let transport = ScriptedTransport { $0.respond(body: "t") }
    let sharing = URLDispatcher(
      transport: transport, sharing: bench.dispatcher.gate, observers: isObserved ? [bench.recording] : [],
      interceptors: [interceptor])
    sharing.dispatch(try bench.request()) { [responses] in responses.add($0) }
    try await inside.wait()
    sharing.beginShutDown(.drain)
    goesOn.open()
    await sharing.shutDown()
    #expect(responses.values.map(\.code) == [nil])
    let late = kept.withLock { $0 }
    await #expect(throws: DispatchError.self) { try await late?.send(try DispatchRequest("http://a/late")) }
    #expect(transport.violations == [])
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  // // MARK: Ways of submitting

  @Test("streams, files, blocking calls, callbacks, suspended callers and delegates: all are prepared and sent again")
  func ways() async throws {
    let interceptor = Hooks { request, interception in request.headerFields[.accept] = "\(interception.resends)" }
    let transport = ScriptedTransport { exchange in
      let isAgain = exchange.request.headerFields[.accept] == "1"
      exchange.respond(isAgain ? 200 : 401, body: isAgain ? "in" : "out")
    }
    let bench = try Bench(requests: 2, long: 1, overflow: .wait, transport: transport, interceptors: [interceptor])
    let dispatcher = bench.dispatcher
    let request = try bench.request()
    #expect(try await dispatcher.data(for: request).text == "in")
    for lane in [RequestLane.short, .long] {
      let stream = try await dispatcher.stream(for: request, lane: lane)
      #expect(stream.head.statusCode == 200)
      #expect(try await stream.body.collect(upTo: 10) == Array("in".utf8))
    }
    let blocking = try await onThread { () throws(DispatchError) in try dispatcher.dispatchSynchronously(request) }
    #expect(try blocking.get().text == "in")
    await dispatcher.dispatch(enqueuing: request) { [responses] in responses.add($0) }
    await responses.wait(for: 1)
    #expect(try responses.last?.get().text == "in")
    let path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let file = try await dispatcher.download(for: request, to: .replacing(path))
    #expect((file.head.statusCode, file.bytes, file.path) == (200, 2, path))
    let short = Listener()
    dispatcher.dispatchShort(request, delegate: short)
    await short.calls.wait(for: 3)
    #expect(short.heard == ["response 200", "data 105", "finished"])
    let long = Listener()
    try dispatcher.dispatchLong(request, delegate: long)
    await long.calls.wait(for: 3)
    #expect(long.heard == ["response 200", "data 105", "finished"])
    await dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test("a long request is refused at once if its lane is full, and later if it has become full meanwhile")
  func longLane() async throws {
    let (inside, goesOn) = (Gate(), Gate())
    let interceptor = Hooks { request, _ in
      guard request.url.hasSuffix("slow") else { return }
      inside.open()
      await goesOn.waitRegardless()
    }
    let bench = try Bench(requests: 2, long: 1, interceptors: [interceptor])
    let late = Listener()
    let operation = try bench.dispatcher.dispatchLong(try bench.request("/slow"), delegate: late)
    try await inside.wait()
    let first = Listener()
    try bench.dispatcher.dispatchLong(try bench.request(), delegate: first)
    let exchange = try await bench.transport.next()
    #expect(bench.dispatcher.tryDispatchLong(try bench.request(), delegate: first) == nil)
    goesOn.open()
    await late.calls.wait(for: 1)
    #expect(late.heard == ["failed long_lane_full"])
    #expect(operation.state == .failed)
    exchange.respond()
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test(
    "a delegate is asked for a credential after the interceptors have accepted the response; the resend is prepared too"
  )
  func credential() async throws {
    final class Guest: URLDispatchDelegate {
      let calls = Outcomes<String>()
      func dispatchOperation(
        _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
      ) -> AuthenticationAnswer {
        calls.add("challenge")
        return .credential(user: "ada", password: "secret")
      }
      func dispatchOperation(_ operation: URLDispatchOperation, didReceiveResponse response: ResponseHead) {
        calls.add("response \(response.statusCode)")
      }
      func dispatchOperationDidFinish(_ operation: URLDispatchOperation) { calls.add("finished") }
    }
    // Reviewed and accepted, then not reviewed.
    for isLooked in [true, false] {
      let interceptor = Hooks { request, _ in
        request.headerFields[.accept] = "prepared"
      } interest: { response, _ in
        response.statusCode == 401 && isLooked
      } review: { _, _ in
        .deliver
      }
      let bench = try Bench(requests: 1, interceptors: [interceptor])
      let guest = Guest()
      bench.dispatcher.dispatchShort(try bench.request(), delegate: guest)
      try await bench.transport.next().respond(401, [.wwwAuthenticate: "Basic realm=x"], body: "who?")
      let again = try await bench.transport.next()
      #expect(again.request.headerFields[.authorization] == "Basic YWRhOnNlY3JldA==")
      #expect(again.request.headerFields[.accept] == "prepared")
      again.respond()
      await bench.dispatcher.shutDown()
      #expect(guest.calls.values == ["challenge", "response 200", "finished"])
      #expect(bench.recording.requests.first?.exchanges.map(\.start.resends) == [0, 1])
      #expect(await bench.isCleanAtLast())
    }
  }

  @Test("under random answers, cancellations and ends each request ends once and nothing is left", arguments: 0..<12)
  func anything(seed: UInt64) async throws {
    let random = LockedBox(SeededRandom(seed: seed))
    @Sendable func dice(_ sides: Int) -> Int { random.withLock { Int.random(in: 0..<sides, using: &$0) } }
    let interceptor = Hooks { _, _ in
      for _ in 0..<dice(3) { await Task.yield() }
      if dice(20) == 0 { throw Mishap() }
    } review: { _, _ in
      for _ in 0..<dice(3) { await Task.yield() }
      return dice(3) == 0 ? .deliver : .resend
    }
    let transport = ScriptedTransport { exchange in
      switch dice(8) {
      case 0..<3: exchange.respond(401, body: "no")
      case 3: exchange.respond(302, [.location: "http://\(["a", "b", "c"][dice(3)])/"])
      case 4: exchange.end(DispatchError(.connectionLost))
      default: exchange.respond()
      }
    }
    let bench = try Bench(requests: 2, transport: transport, interceptors: [interceptor])
    let count = 200
    for number in 0..<count {
      var request = try bench.request(host: ["a", "b"][number % 2])
      if number % 3 == 0 { request.retry = RetryPolicy(attempts: 2, backoff: .none, budget: .none) }
      request.tag = "\(number)"
      let operation = bench.send(request, into: responses)
      if dice(4) == 0 { operation.cancel() }
      if dice(4) == 0 { bench.dispatcher.cancelAll(tag: "\(dice(count))") }
      if number % 16 == 0 { await Task.yield() }
      bench.clock.advance(by: .milliseconds(1))
    }
    bench.dispatcher.beginShutDown(seed % 3 == 0 ? .now : .drain)
    await bench.dispatcher.shutDown()
    #expect(responses.count == count)
    #expect(bench.dispatcher.gate.outside.isEmpty)
    #expect(await bench.isCleanAtLast())
  }
}
