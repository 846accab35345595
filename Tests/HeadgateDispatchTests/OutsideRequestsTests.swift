import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Requests that are not in the gate when it is searched for them, or on their way there.
@Suite struct OutsideRequestsTests {
  /// Blocks while it is asked for a credential.
  private final class Hesitant: URLDispatchDelegate {
    let asked = Gate()
    let mayAnswer = Gate()
    let ends = Outcomes<String>()

    func dispatchOperation(
      _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
    ) -> AuthenticationAnswer {
      asked.open()
      block(until: mayAnswer)
      return .default
    }

    func dispatchOperationDidFinish(_ operation: URLDispatchOperation) { ends.add("finished") }
    func dispatchOperationWasCancelled(_ operation: URLDispatchOperation) { ends.add("cancelled") }
    func dispatchOperation(_ operation: URLDispatchOperation, didFailWith error: DispatchError) {
      ends.add(error.code == .shutDown ? "shut down" : "\(error)")
    }
  }

  @Test(
    "a request whose delegate is asked for a credential after a review is cancelled with the others",
    arguments: ["dispatcher", "gate", "shutdown"])
  func asked(way: String) async throws {
    let bench = try Bench(requests: 1, interceptors: [Hooks(review: { _, _ in .deliver })])
    let delegate = Hesitant()
    let request = try bench.request()
    bench.dispatcher.dispatchShort(request, delegate: delegate)
    try await bench.transport.next().respond(401, [.wwwAuthenticate: #"Basic realm="here""#])
    try await delegate.asked.wait()
    switch way {
    case "dispatcher": #expect(bench.dispatcher.cancelAll(to: request.endPoint) == 1)
    case "gate": #expect(bench.dispatcher.gate.cancelAll(to: request.endPoint) == 1)
    default: bench.dispatcher.beginShutDown(.now)
    }
    delegate.mayAnswer.open()
    await delegate.ends.wait(for: 1)
    #expect(delegate.ends.values == [way == "shutdown" ? "shut down" : "cancelled"])
    await bench.dispatcher.shutDown()
    #expect(bench.dispatcher.gate.outside.isEmpty)
    #expect(bench.transport.takeStarted() == nil)
    #expect(await bench.isCleanAtLast())
  }

  @Test("the timeout runs while a delegate is asked for a credential after a review")
  func askedForTooLong() async throws {
    let bench = try Bench(requests: 1, interceptors: [Hooks(review: { _, _ in .deliver })])
    let delegate = Hesitant()
    var request = try bench.request()
    request.timeout = .seconds(3)
    // Its timer would be taken for that of the timeout.
    request.idleTimeout = nil
    let operation = bench.dispatcher.dispatchShort(request, delegate: delegate)
    try await bench.transport.next().respond(401, [.wwwAuthenticate: #"Basic realm="here""#])
    try await delegate.asked.wait()
    try await bench.clock.timers(1)
    bench.clock.advance(by: .seconds(3))
    #expect(operation.state == .failed)
    delegate.mayAnswer.open()
    await bench.dispatcher.shutDown()
    #expect(bench.transport.takeStarted() == nil)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a gate cancels the requests of all dispatchers, also between two attempts and in interceptors")
  func gateCancels() async throws {
    let inside = Gate()
    let bench = try Bench(requests: 2)
    let transport = ScriptedTransport()
    let interceptor = Hooks(prepare: { _, _ in
      inside.open()
      try await untilCancelled()
    })
    let second = URLDispatcher(transport: transport, sharing: bench.dispatcher.gate, interceptors: [interceptor])
    let responses = Responses()
    var request = try bench.request()
    request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(1)), budget: .none)
    bench.send(request, into: responses)
    bench.transport.takeStarted()?.respond(503)
    second.dispatch(request) { responses.add($0) }
    second.dispatch(try bench.request(host: "elsewhere")) { responses.add($0) }
    try await inside.wait()
    #expect(bench.counts.running == 0)
    #expect(bench.dispatcher.gate.cancelAll(to: request.endPoint) == 2)
    #expect(responses.values.map(\.code) == [.cancelled, .cancelled])
    await second.shutDown(.now)
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test("a stop of an end-point ends no review of a dispatcher that drains", arguments: [true, false])
  func stopDuringReview(drainsFirst: Bool) async throws {
    let (inside, goesOn) = (Gate(), Gate())
    let bench = try Bench(requests: 1)
    let transport = ScriptedTransport()
    let interceptor = Hooks(review: { _, _ in
      inside.open()
      await goesOn.waitRegardless()
      return .deliver
    })
    let second = URLDispatcher(transport: transport, sharing: bench.dispatcher.gate, interceptors: [interceptor])
    let responses = Responses()
    let request = try bench.request()
    second.dispatch(request) { responses.add($0) }
    try await transport.next().respond(401, body: "no")
    try await inside.wait()
    if drainsFirst { second.beginShutDown(.drain) }
    bench.dispatcher.gate.stop(request.endPoint)
    if !drainsFirst { second.beginShutDown(.drain) }
    goesOn.open()
    await second.shutDown(.drain)
    #expect(try responses.last?.get().statusCode == 401)
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test(
    "a request that starts as its dispatcher closes is finished, except by a shutdown at once",
    arguments: [ShutdownMode.drain, .graceful, .now], [false, true])
  func startsBeside(mode: ShutdownMode, isRetry: Bool) async throws {
    let bench = try Bench(requests: 1)
    let closing = Locked<URLDispatcher?>(nil)
    let starts = Outcomes<ScriptedExchange>()
    let transport = ScriptedTransport { exchange in
      starts.add(exchange)
      if isRetry, starts.count == 1 { return exchange.respond(503) }
      // The gate has granted the permit, and the call that submits the request has not returned.
      closing.withLock { $0 }?.beginShutDown(mode)
    }
    let second = URLDispatcher(transport: transport, sharing: bench.dispatcher.gate)
    closing.withLock { $0 = second }
    var request = try bench.request()
    request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(1)), budget: .none)
    let responses = Responses()
    second.dispatch(request) { responses.add($0) }
    if isRetry { bench.clock.advance(by: .seconds(1)) }
    #expect(starts.count == (isRetry ? 2 : 1))
    if let last = starts.last, !last.cancelled.isOpen { last.respond() }
    await second.shutDown(mode)
    #expect(responses.values.map(\.code) == [mode == .now ? .shutDown : nil])
    closing.withLock { $0 = nil }
    await bench.dispatcher.shutDown()
    #expect(bench.isClean())
  }
}
