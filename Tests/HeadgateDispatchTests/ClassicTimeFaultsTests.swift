import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

#if os(Linux)
import Glibc
#endif

/// Faults of the classic dispatcher with time and threads, each by its name.
@Suite struct ClassicTimeFaultsTests {
  @Test("Classic fault, D38 the timer before its task: a timeout inside the start still ends the request")
  func timerBeforeTask() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport { _ in clock.advance(by: .seconds(2)) }
    let dispatcher = URLDispatcher(transport: transport, timers: clock)
    let listener = Listener()
    var request = try DispatchRequest("http://a/")
    request.timeout = .seconds(1)
    let operation = dispatcher.dispatchShort(request, delegate: listener)
    // Its time had passed when the timer was armed. A real clock calls at once, this one when it is moved.
    clock.advance(by: .zero)
    #expect(operation.error?.code == .timedOut)
    await listener.calls.wait(for: 1)
    #expect(listener.heard == ["failed timed_out"])
    #expect(dispatcher.gate.counts.running == 0)
  }

  @Test("Classic fault, D37 the missing timer: a request without a timeout ends, moves and is cancelled")
  func noTimer() async throws {
    let bench = try Bench(requests: 4, long: 2)
    let listener = Listener()
    var request = try bench.request()
    request.timeout = nil
    request.idleTimeout = nil
    let operations = try [
      bench.dispatcher.dispatchShort(request, delegate: listener),
      bench.dispatcher.dispatchShort(request, delegate: listener),
      bench.dispatcher.dispatchLong(request, delegate: listener),
    ]
    let exchanges = [
      try await bench.transport.next(), try await bench.transport.next(), try await bench.transport.next(),
    ]
    for exchange in exchanges { exchange.head() }
    #expect(operations[1].moveToLong())
    #expect(bench.clock.pendingCount == 0)
    exchanges[0].end()
    operations[1].cancel()
    exchanges[2].end()
    await bench.dispatcher.shutDown(.drain)
    #expect(operations.map(\.state) == [.finished, .cancelled, .finished])
    #expect(bench.isClean())
  }

  @Test(
    "Classic fault, D40 the endless silence of a stream: from the head on the idle limit ends it, and frees its place")
  func silentStream() async throws {
    let bench = try Bench(requests: 2, long: 1)
    let listener = Listener()
    var request = try bench.request()
    request.timeout = .seconds(1)
    request.idleTimeout = .seconds(30)
    let operation = try bench.dispatcher.dispatchLong(request, delegate: listener)
    let exchange = try await bench.transport.next()
    exchange.head()
    for _ in 0..<10 {
      bench.clock.advance(by: .seconds(29))
      exchange.body([1])
    }
    bench.clock.advance(by: .seconds(29))
    #expect(operation.state == .running)
    bench.clock.advance(by: .seconds(1))
    #expect(operation.error?.code == .idleTimedOut)
    #expect(bench.dispatcher.gate.isLongRequestAllowed(at: request.endPoint))
    await bench.dispatcher.shutDown(.drain)
    #expect(listener.heard == ["response 200"] + Array(repeating: "data 1", count: 10) + ["failed idle_timed_out"])
    #expect(bench.isClean())
  }

  #if os(Linux)
  @Test("Classic fault, D59 the blocked thread per end-point: five hundred full end-points need no thread")
  func blockedThreads() async {
    // In its own process, since other tests start threads too.
    await #expect(processExitsWith: .success) {
      let dispatcher = URLDispatcher(
        transport: ScriptedTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: 1), total: 1_000))
      let listener = Listener()
      let before = threadCount()
      for number in 0..<500 {
        let request = try DispatchRequest("http://h\(number)/")
        for _ in 0..<4 { dispatcher.dispatchShort(request, delegate: listener) }
      }
      // One thread for the clock of the timeouts.
      guard dispatcher.gate.counts.waiting == 1_500, before > 0, threadCount() <= before + 1 else { exit(1) }
      exit(0)
    }
  }
  #endif
}
