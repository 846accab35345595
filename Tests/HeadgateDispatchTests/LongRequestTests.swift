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
      exchanges.append(await bench.transport.next())
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
    await bench.transport.next().respond()
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
    for deadline in [Duration.zero, .seconds(5)] {
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
    #expect(bench.dispatcher.runningLongRequests(for: request) == 2)
    // Short requests overtake them.
    for _ in 0..<2 { bench.dispatcher.dispatchShort(request, delegate: listener) }
    var short = [await bench.transport.next(), await bench.transport.next()]
    #expect(bench.counts.running == 4)
    // A permit that a short request returns is not for them.
    short.removeLast().respond()
    #expect(bench.counts.running == 3)
    #expect(bench.transport.takeStarted() == nil)
    exchanges[0].respond()
    #expect(waiting.map(\.state) == [.running, .waiting, .waiting])
    #expect(bench.dispatcher.runningLongRequests(for: request) == 2)
    short.removeLast().respond()
    exchanges[1].respond()
    for _ in 0..<3 { await bench.transport.next().respond() }
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("an async stream waits for the long lane under the policy `enqueue`")
  func enqueuedStream() async throws {
    let (bench, exchanges, _) = try await full()
    let request = try bench.request()
    async let stream = bench.dispatcher.stream(for: request, lane: .long, policy: .enqueue)
    while bench.counts.waiting == 0 { await Task.yield() }
    exchanges[0].respond()
    await bench.transport.next().head(206)
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
      for _ in 0..<3 { await bench.transport.next().respond() }
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
    #expect(!dispatcher.isLongRequestAllowed(for: here))
    #expect(try !dispatcher.isLongRequestAllowed(for: "HTTP://A.:80/other"))
    #expect(try !dispatcher.isLongRequestAllowed(host: "A", port: 80))
    #expect(dispatcher.isLongRequestAllowed(for: there))
    #expect(try dispatcher.isLongRequestAllowed(for: "https://a/"))
    #expect(try dispatcher.isLongRequestAllowed(host: "a", port: 81))
    #expect(dispatcher.runningLongRequests(for: here) == 1)
    #expect(try dispatcher.runningLongRequests(for: "http://a") == 1)
    #expect(try dispatcher.runningLongRequests(host: "a", port: 80) == 1)
    #expect(dispatcher.runningLongRequests(for: there) == 0)
    #expect(throws: EndPointError.self) { try dispatcher.isLongRequestAllowed(for: "no URL") }
    #expect(throws: EndPointError.self) { try dispatcher.runningLongRequests(host: "a", port: 0) }
    exchanges[0].respond()
    #expect(dispatcher.isLongRequestAllowed(for: here))
    #expect(dispatcher.runningLongRequests(for: here) == 0)
    await dispatcher.shutDown(.drain)
    #expect(!dispatcher.isLongRequestAllowed(for: here))
    // A request whose delegate is gone is cancelled, by another thread.
    #expect(listener.heard == ["response 200", "finished"])
  }

  @Test("availability predicts the result of a submission: it runs, waits behind others, or is refused")
  func availability() async throws {
    let (bench, exchanges, listener) = try await full(requests: 2, long: 1, waiting: 3)
    let (dispatcher, request) = (bench.dispatcher, try bench.request())
    #expect(dispatcher.availability(for: request) == .runs)
    #expect(dispatcher.availability(for: request, lane: .long) == .waits(before: 0))
    #expect(dispatcher.availability(for: try bench.request(host: "b"), lane: .long) == .runs)
    dispatcher.dispatchShort(request, delegate: listener)
    #expect(dispatcher.availability(for: request) == .waits(before: 0))
    for _ in 0..<2 { dispatcher.dispatchShort(request, delegate: listener) }
    #expect(dispatcher.availability(for: request) == .waits(before: 2))
    #expect(dispatcher.availability(for: request).waitingBefore == 2)
    try dispatcher.dispatchLong(request, delegate: listener, policy: .enqueue)
    #expect(dispatcher.availability(for: request, lane: .long) == .refused)
    #expect(dispatcher.availability(for: request) == .refused)
    #expect(dispatcher.availability(for: try bench.request(host: "b")) == .runs)
    exchanges[0].respond()
    for _ in 0..<4 { await bench.transport.next().respond() }
    #expect(dispatcher.availability(for: request) == .runs)
    await dispatcher.shutDown(.drain)
    #expect(dispatcher.availability(for: request) == .refused)
  }

  @Test("D06 a lower limit on long requests ends none and starts none until it fits; a higher one starts all it allows")
  func changedLimit() async throws {
    let (bench, exchanges, listener) = try await full(requests: 6, long: 3)
    let (dispatcher, request) = (bench.dispatcher, try bench.request())
    #expect((dispatcher.maxRequests, dispatcher.maxLongRequests) == (6, 3))
    for _ in 0..<4 { try dispatcher.dispatchLong(request, delegate: listener, policy: .enqueue) }
    try dispatcher.setMaxLongRequests(1)
    #expect(dispatcher.maxLongRequests == 1)
    #expect(dispatcher.runningLongRequests(for: request) == 3)
    exchanges[0].respond()
    exchanges[1].respond()
    #expect(dispatcher.runningLongRequests(for: request) == 1)
    #expect(bench.transport.takeStarted() == nil)
    try dispatcher.setMaxLongRequests(4)
    #expect(dispatcher.runningLongRequests(for: request) == 4)
    #expect(bench.counts.waiting == 1)
    // For one end-point only.
    try dispatcher.setMaxLongRequests(5, for: request.endPoint)
    #expect(dispatcher.maxLongRequests == 4)
    #expect(dispatcher.runningLongRequests(for: request) == 5)
    #expect(throws: LimitError.self) { try dispatcher.setMaxLongRequests(6) }
    #expect(throws: LimitError.self) { try dispatcher.setMaxLongRequests(0, for: request.endPoint) }
    #expect(dispatcher.limits.overrides[request.endPoint]?.long == 5)
    exchanges[2].respond()
    for _ in 0..<4 { await bench.transport.next().respond() }
    await dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("D40 a long request's timeout ends at the head, and the idle limit applies between its pieces")
  func idleLimit() async throws {
    let bench = try Bench()
    let listener = Listener()
    var request = try bench.request()
    request.timeout = .seconds(1)
    request.idleTimeout = .seconds(5)
    try bench.dispatcher.dispatchLong(request, delegate: listener)
    let exchange = await bench.transport.next()
    exchange.head()
    for _ in 0..<10 {
      bench.clock.advance(by: .seconds(4))
      exchange.body([1])
    }
    bench.clock.advance(by: .seconds(5))
    await listener.calls.wait(for: 12)
    #expect(listener.heard.last == "failed idle_timed_out")
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
    let exchanges = [await bench.transport.next(), await bench.transport.next()]
    for exchange in exchanges { exchange.head() }
    #expect(first.moveToLong())
    #expect(first.moveToLong())
    #expect(first.lane == .long)
    #expect(bench.dispatcher.runningLongRequests(for: request) == 1)
    #expect(!bench.dispatcher.isLongRequestAllowed(for: request))
    #expect(!second.moveToLong())
    #expect((second.lane, second.state) == (.short, .running))
    // The timeout of a long request ended with its head.
    bench.clock.advance(by: .seconds(59))
    #expect((first.state, second.state) == (.running, .failed))
    #expect(!second.moveToLong())
    bench.clock.advance(by: .seconds(1))
    #expect(first.error?.code == .idleTimedOut)
    #expect(!first.moveToLong())
    #expect(bench.dispatcher.isLongRequestAllowed(for: request))
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
    let exchange = await bench.transport.next()
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
    await bench.transport.next().respond()
    #expect(long.state == .running)
    for _ in 0..<3 { await bench.transport.next().respond() }
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
    #expect(bench.dispatcher.runningLongRequests(for: request) == 1)
    stream.body.cancel()
    #expect(!stream.body.moveToLong())
    #expect(bench.isClean())
  }

  @Test("a moved request that is redirected waits for the other end-point's long lane")
  func moveAndRedirect() async throws {
    let (bench, exchanges, listener) = try await full(requests: 2, long: 1)
    let operation = bench.dispatcher.dispatchShort(try bench.request(host: "b"), delegate: listener)
    let exchange = await bench.transport.next()
    #expect(operation.moveToLong())
    exchange.respond(302, [.location: "http://a/"])
    #expect((operation.state, operation.endPoint.host) == (.waiting, "a"))
    #expect(bench.counts.running == 1)
    exchanges[0].respond()
    await bench.transport.next().respond()
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }
}
