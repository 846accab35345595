import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Long requests: a surplus one, queries in advance, and how a short one becomes long.
@Suite struct LongRequestTests {
  /// A dispatcher whose long lane at `a` is full.
  private func full(requests: Int = 3, long: Int = 1, waiting: Int = 1000) async throws -> (
    Bench, [ScriptedExchange], Listener
  ) {
    let bench = try Bench(requests: requests, long: long, waiting: waiting)
    let listener = Listener()
    var exchanges: [ScriptedExchange] = []
    for _ in 0..<long {
      try bench.dispatcher.dispatchLong(try bench.request(), delegate: listener)
      exchanges.append(try await bench.transport.next())
    }
    return (bench, exchanges, listener)
  }

  private func code(_ body: () throws(DispatchError) -> Void) -> DispatchError.Code? {
    do throws(DispatchError) { try body() } catch { return error.code }
    return nil
  }

  @Test("D61 under the policy `throw` a surplus request throws, and its delegate is not called")
  func policyThrow() async throws {
    let (bench, exchanges, first) = try await full()
    let (request, listener) = (try bench.request(), Listener())
    #expect(
      code { () throws(DispatchError) in try bench.dispatcher.dispatchLong(request, delegate: listener) }
        == .longLaneFull)
    #expect(bench.dispatcher.tryDispatchLong(request, delegate: listener) == nil)
    #expect(bench.counts.running == 1 && bench.counts.waiting == 0)
    exchanges[0].respond()
    let operation = try #require(bench.dispatcher.tryDispatchLong(request, delegate: listener))
    #expect(operation.lane == .long)
    try await bench.transport.next().respond()
    await bench.dispatcher.shutDown(.drain)
    #expect(listener.heard == ["response 200", "finished"])
    #expect(first.heard == ["response 200", "finished"])
    #expect(
      code { () throws(DispatchError) in try bench.dispatcher.dispatchLong(request, delegate: listener) } == .shutDown)
    #expect(bench.isClean())
  }

  @Test("a long request that is refused by throwing leaves no timer, even if its deadline has passed by then")
  func refusedWithDeadline() async throws {
    let (bench, exchanges, _) = try await full()
    let listener = Listener()
    for deadline in [Duration.nanoseconds(1), .seconds(5)] {
      var request = try bench.request()
      request.deadline = deadline
      #expect(bench.dispatcher.tryDispatchLong(request, delegate: listener) == nil)
    }
    bench.clock.advance(by: .seconds(10))
    exchanges[0].respond()
    await bench.dispatcher.shutDown(.drain)
    #expect(listener.heard.isEmpty)
    #expect(bench.isClean())
  }

  @Test("D61 under the policy `fail` a surplus request fails, and its delegate is told")
  func policyFail() async throws {
    let (bench, exchanges, _) = try await full()
    let listener = Listener()
    let operation = try bench.dispatcher.dispatchLong(try bench.request(), delegate: listener, policy: .fail)
    #expect(operation.state == .failed)
    #expect(operation.error?.code == .longLaneFull)
    await listener.calls.wait(for: 1)
    #expect(listener.heard == ["failed long_lane_full"])
    exchanges[0].respond()
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test(
    "D61 under the policy `enqueue` a surplus request waits in the long lane, within its limit, and delays no short one"
  )
  func policyEnqueue() async throws {
    let (bench, exchanges, listener) = try await full(requests: 4, long: 2)
    let request = try bench.request()
    let waiting = try (0..<3).map { _ in
      try bench.dispatcher.dispatchLong(request, delegate: listener, policy: .enqueue)
    }
    #expect(waiting.map(\.state) == [.waiting, .waiting, .waiting])
    #expect(bench.dispatcher.gate.runningLongRequests(at: request.endPoint) == 2)
    #expect((bench.counts.running, bench.counts.waiting) == (2, 3))
    #expect(bench.dispatcher.gate.availability(for: request.endPoint) == .runs)
    // Short requests overtake them.
    for _ in 0..<2 { bench.dispatcher.dispatchShort(request, delegate: listener) }
    var short = [try await bench.transport.next(), try await bench.transport.next()]
    #expect(bench.counts.running == 4)
    // A permit that a short request returns is not for them.
    short.removeLast().respond()
    #expect(bench.counts.running == 3)
    #expect(bench.transport.takeStarted() == nil)
    exchanges[0].respond()
    #expect(waiting.map(\.state) == [.running, .waiting, .waiting])
    #expect(bench.dispatcher.gate.runningLongRequests(at: request.endPoint) == 2)
    short.removeLast().respond()
    exchanges[1].respond()
    for _ in 0..<3 {
      try await bench.transport.next().respond()
      #expect(bench.transport.running(at: request.endPoint) <= 2)
    }
    await bench.dispatcher.shutDown(.drain)
    // A response and an end each.
    #expect(listener.calls.count == 2 * 7)
    #expect(bench.isClean())
  }

  @Test("an async stream waits for the long lane under the policy `enqueue`")
  func enqueuedStream() async throws {
    let (bench, exchanges, _) = try await full()
    let request = try bench.request()
    async let stream = bench.dispatcher.stream(for: request, lane: .long, policy: .enqueue)
    while bench.counts.waiting == 0 { await Task.yield() }
    exchanges[0].respond()
    try await bench.transport.next().head(206)
    #expect(try await stream.statusCode == 206)
    await bench.dispatcher.shutDown(.now)
  }

  @Test("D62 eight threads try to enter the long lane: as many succeed as it has places")
  func race() async throws {
    for _ in 0..<50 {
      let bench = try Bench(requests: 8, long: 3)
      let (request, listener) = (try bench.request(), Listener())
      let taken = Outcomes<Bool>()
      let threads = try (0..<8).map { _ in
        try WorkerThread(name: "racer") {
          taken.add(bench.dispatcher.tryDispatchLong(request, delegate: listener) != nil)
        }
      }
      for thread in threads { thread.join() }
      #expect(taken.values.filter { $0 }.count == 3)
      for _ in 0..<3 { try await bench.transport.next().respond() }
      await bench.dispatcher.shutDown(.drain)
      #expect(listener.calls.count == 6)
      #expect(bench.isClean())
    }
  }

  @Test("queries by request, by URL and by host and port agree")
  func queries() async throws {
    let (bench, exchanges, listener) = try await full()
    let dispatcher = bench.dispatcher
    let (here, there) = (try bench.request(), try bench.request(host: "b"))
    #expect(!dispatcher.gate.isLongRequestAllowed(at: here.endPoint))
    #expect(try !dispatcher.gate.isLongRequestAllowed(at: EndPoint("HTTP://A.:80/other")))
    #expect(try !dispatcher.gate.isLongRequestAllowed(at: EndPoint(host: "A", port: 80)))
    #expect(dispatcher.gate.isLongRequestAllowed(at: there.endPoint))
    #expect(try dispatcher.gate.isLongRequestAllowed(at: EndPoint("https://a/")))
    #expect(try dispatcher.gate.isLongRequestAllowed(at: EndPoint(host: "a", port: 81)))
    #expect(dispatcher.gate.runningLongRequests(at: here.endPoint) == 1)
    #expect(try dispatcher.gate.runningLongRequests(at: EndPoint("http://a")) == 1)
    #expect(try dispatcher.gate.runningLongRequests(at: EndPoint(host: "a", port: 80)) == 1)
    #expect(dispatcher.gate.runningLongRequests(at: there.endPoint) == 0)
    #expect(throws: EndPointError.self) { try dispatcher.gate.isLongRequestAllowed(at: EndPoint("no URL")) }
    #expect(throws: EndPointError.self) { try dispatcher.gate.runningLongRequests(at: EndPoint(host: "a", port: 0)) }
    exchanges[0].respond()
    #expect(dispatcher.gate.isLongRequestAllowed(at: here.endPoint))
    #expect(dispatcher.gate.runningLongRequests(at: here.endPoint) == 0)
    await dispatcher.shutDown(.drain)
    #expect(!dispatcher.gate.isLongRequestAllowed(at: here.endPoint))
    // A request whose delegate is gone is cancelled, by another thread.
    #expect(listener.heard == ["response 200", "finished"])
  }

  @Test("availability predicts the result of a submission: it runs, waits behind others, or is refused")
  func availability() async throws {
    let (bench, exchanges, listener) = try await full(requests: 2, long: 1, waiting: 3)
    let (dispatcher, request) = (bench.dispatcher, try bench.request())
    #expect(dispatcher.gate.availability(for: request.endPoint) == .runs)
    #expect(dispatcher.gate.availability(for: request.endPoint, lane: .long) == .waits(before: 0))
    #expect(dispatcher.gate.availability(for: try bench.request(host: "b").endPoint, lane: .long) == .runs)
    dispatcher.dispatchShort(request, delegate: listener)
    #expect(dispatcher.gate.availability(for: request.endPoint) == .waits(before: 0))
    for _ in 0..<2 { dispatcher.dispatchShort(request, delegate: listener) }
    #expect(dispatcher.gate.availability(for: request.endPoint) == .waits(before: 2))
    #expect(dispatcher.gate.availability(for: request.endPoint).waitingBefore == 2)
    try dispatcher.dispatchLong(request, delegate: listener, policy: .enqueue)
    #expect(dispatcher.gate.availability(for: request.endPoint, lane: .long) == .refused)
    #expect(dispatcher.gate.availability(for: request.endPoint) == .refused)
    #expect(dispatcher.gate.availability(for: try bench.request(host: "b").endPoint) == .runs)
    exchanges[0].respond()
    for _ in 0..<4 { try await bench.transport.next().respond() }
    #expect(dispatcher.gate.availability(for: request.endPoint) == .runs)
    await dispatcher.shutDown(.drain)
    #expect(dispatcher.gate.availability(for: request.endPoint) == .refused)
  }

  @Test("D06 a lower limit on long requests ends none and starts none until it fits; a higher one starts all it allows")
  func changedLimit() async throws {
    let (bench, exchanges, listener) = try await full(requests: 6, long: 3)
    let (dispatcher, request) = (bench.dispatcher, try bench.request())
    #expect((dispatcher.limits.endPoint.requests, dispatcher.limits.endPoint.long) == (6, 3))
    for _ in 0..<4 { try dispatcher.dispatchLong(request, delegate: listener, policy: .enqueue) }
    dispatcher.updateLimits { $0.endPoint.long = 1 }
    #expect(dispatcher.limits.endPoint.long == 1)
    #expect(dispatcher.gate.runningLongRequests(at: request.endPoint) == 3)
    exchanges[0].respond()
    exchanges[1].respond()
    #expect(dispatcher.gate.runningLongRequests(at: request.endPoint) == 1)
    #expect(bench.transport.takeStarted() == nil)
    dispatcher.updateLimits { $0.endPoint.long = 4 }
    #expect(dispatcher.gate.runningLongRequests(at: request.endPoint) == 4)
    #expect(bench.counts.waiting == 1)
    // For one end-point only.
    dispatcher.updateLimits { limits in
      limits.overrides[request.endPoint] = limits.endPoint
      limits.overrides[request.endPoint]?.long = 5
    }
    #expect(dispatcher.limits.endPoint.long == 4)
    #expect(dispatcher.gate.runningLongRequests(at: request.endPoint) == 5)
    #expect(dispatcher.limits.overrides[request.endPoint]?.long == 5)
    exchanges[2].respond()
    for _ in 0..<4 { try await bench.transport.next().respond() }
    await dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test(
    "D65 a short request that turns into a stream moves to the long lane if that has a place, and is never ended")
  func move() async throws {
    let bench = try Bench(requests: 4, long: 1)
    let listener = Listener()
    var request = try bench.request()
    request.timeout = .seconds(10)
    request.timeoutEndsWithHead = false
    request.idleTimeout = .seconds(60)
    let first = bench.dispatcher.dispatchShort(request, delegate: listener)
    let second = bench.dispatcher.dispatchShort(request, delegate: listener)
    let exchanges = [try await bench.transport.next(), try await bench.transport.next()]
    for exchange in exchanges { exchange.head() }
    #expect(first.moveToLong())
    #expect(first.moveToLong())
    #expect(first.lane == .long)
    #expect(bench.dispatcher.gate.runningLongRequests(at: request.endPoint) == 1)
    #expect(!bench.dispatcher.gate.isLongRequestAllowed(at: request.endPoint))
    #expect(!second.moveToLong())
    #expect((second.lane, second.state) == (.short, .running))
    // The timeout of a long request ended with its head.
    bench.clock.advance(by: .seconds(59))
    #expect((first.state, second.state) == (.running, .failed))
    #expect(!second.moveToLong())
    bench.clock.advance(by: .seconds(1))
    #expect(first.error?.code == .idleTimedOut)
    #expect(!first.moveToLong())
    #expect(bench.dispatcher.gate.isLongRequestAllowed(at: request.endPoint))
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("a request that moves before its head keeps its timeout until the head")
  func moveBeforeHead() async throws {
    let bench = try Bench(requests: 4, long: 2)
    let listener = Listener()
    var request = try bench.request()
    request.timeout = .seconds(10)
    let (early, late) = (
      bench.dispatcher.dispatchShort(request, delegate: listener),
      bench.dispatcher.dispatchShort(request, delegate: listener)
    )
    let exchange = try await bench.transport.next()
    #expect(early.moveToLong() && late.moveToLong())
    exchange.head()
    bench.clock.advance(by: .seconds(10))
    #expect((early.state, late.error?.code) == (.running, .timedOut))
    exchange.end()
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("a waiting request can't move, nor can one overtake those that wait for the long lane")
  func moveRefused() async throws {
    let bench = try Bench(requests: 2, long: 1)
    let (request, listener) = (try bench.request(), Listener())
    let running = bench.dispatcher.dispatchShort(request, delegate: listener)
    bench.dispatcher.dispatchShort(request, delegate: listener)
    let long = try bench.dispatcher.dispatchLong(request, delegate: listener)
    let waiting = bench.dispatcher.dispatchShort(request, delegate: listener)
    #expect(!waiting.moveToLong() && !long.moveToLong())
    #expect((waiting.lane, long.lane) == (.short, .long))
    // The lane's only place is free and promised.
    #expect(!running.moveToLong())
    try await bench.transport.next().respond()
    #expect(long.state == .running)
    for _ in 0..<3 { try await bench.transport.next().respond() }
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("the body of an async stream moves to the long lane")
  func moveStream() async throws {
    let bench = try Bench(requests: 2, long: 1)
    var request = try bench.request()
    request.timeout = .seconds(10)
    let stream = try await withStream(bench, request) { $0.head() }
    #expect(stream.body.moveToLong())
    bench.clock.advance(by: .seconds(3600))
    #expect(bench.dispatcher.gate.runningLongRequests(at: request.endPoint) == 1)
    stream.body.cancel()
    #expect(!stream.body.moveToLong())
    #expect(bench.isClean())
  }

  @Test("a moved request that is redirected waits for the other end-point's long lane")
  func moveAndRedirect() async throws {
    let (bench, exchanges, listener) = try await full(requests: 2, long: 1)
    let operation = bench.dispatcher.dispatchShort(try bench.request(host: "b"), delegate: listener)
    let exchange = try await bench.transport.next()
    #expect(operation.moveToLong())
    exchange.respond(302, [.location: "http://a/"])
    #expect((operation.state, operation.endPoint.host) == (.waiting, "a"))
    #expect(bench.counts.running == 1)
    exchanges[0].respond()
    try await bench.transport.next().respond()
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }
}
