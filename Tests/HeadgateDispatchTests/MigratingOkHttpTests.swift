import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// The code of docs/migrating.md for OkHttp's Dispatcher.
@Suite struct MigratingOkHttpTests {
  @Test("OkHttp: the queue is charged to no time-out; counts, cancellation, end")
  func dispatcher() async throws {
    let (clock, transport) = (ManualClock(), ScriptedTransport())
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 5), total: 64)
    limits.rules[try HostPattern("*.example.com")] = try EndPointLimits(requests: 2)
    let dispatcher = URLDispatcher(transport: transport, limits: limits, timers: clock)
    let endPoint = try EndPoint("http://a/")
    var request = try DispatchRequest("http://a/")
    request.timeout = .seconds(10)
    request.tag = "page"

    // Streams without an end: they have no time-out.
    var endless = request
    endless.timeout = nil
    for _ in 1...5 { dispatcher.dispatch(endless) { _ in } }
    let results = Outcomes<String>()
    let call = dispatcher.dispatch(request) { result in results.add(result.code) }
    dispatcher.dispatch(request) { result in results.add(result.code) }
    request.deadline = .seconds(60)
    dispatcher.dispatch(request) { result in results.add(result.code) }
    #expect(dispatcher.gate.counts.running == 5)
    #expect(dispatcher.gate.counts.waiting == 3)
    #expect(dispatcher.snapshot().running == 5)

    // Waiting for a minute is charged to the deadline only.
    clock.advance(by: .seconds(60))
    await results.wait(for: 1)
    #expect(results.values == ["deadline_exceeded"])
    call.cancel()
    await results.wait(for: 2)
    #expect(results.values == ["deadline_exceeded", "cancelled"])
    dispatcher.cancelAll(tag: "page")
    await results.wait(for: 3)
    #expect(results.values == ["deadline_exceeded", "cancelled", "cancelled"])
    #expect(dispatcher.cancelAll(to: endPoint) == 0)
    dispatcher.setLimits(try EndPointLimits(requests: 8), for: endPoint)
    await dispatcher.shutDown()
  }
}

extension Result<DispatchResponse, DispatchError> {
  fileprivate var code: String {
    switch self {
    case .success(let response): "\(response.statusCode)"
    case .failure(let error): "\(error.code)"
    }
  }
}
