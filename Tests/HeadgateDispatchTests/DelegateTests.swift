import Dispatch
import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// The calls of a delegate: where and in which order.
@Suite struct DelegateTests {
  /// The targets on which a delegate can be called.
  enum Place: String, CaseIterable, Sendable {
    case ownPool, pool, loop, serialQueue, concurrentQueue, executor, submitting
  }

  private func target(_ place: Place, _ pool: ThreadPool, _ loop: ThreadLoop) -> Delivery? {
    switch place {
    case .ownPool: nil
    case .pool: .pool(pool)
    case .loop: .loop(loop)
    case .serialQueue: .queue(DispatchQueue(label: "delegates"))
    case .concurrentQueue: .queue(DispatchQueue(label: "delegates", attributes: .concurrent))
    case .executor: .executor(pool.taskExecutor)
    case .submitting: .submitting { call in try pool.execute { call() } }
    }
  }

  @Test(
    "D60 a delegate is told response, data, end: in order, one call at a time, none after the last",
    arguments: Place.allCases)
  func order(_ place: Place) async throws {
    let bench = try Bench()
    let pool = try ThreadPool(name: "four", size: 4)
    let loop = try ThreadLoop(name: "loop")
    let listener = Listener()
    let operation = bench.dispatcher.dispatchShort(
      try bench.request(), delegate: listener, on: target(place, pool, loop))
    let exchange = try await bench.transport.next()
    exchange.head()
    for number in 1...200 { exchange.body([UInt8(number)]) }
    exchange.end()
    await bench.dispatcher.shutDown(.drain)
    operation.cancel()
    #expect(listener.heard == ["response 200"] + (1...200).map { "data \($0)" } + ["finished"])
    #expect(listener.crowd.withLock { $0.most } == 1)
    #expect(operation.state == .finished)
    #expect(bench.isClean())
    pool.dispose()
    loop.stop()
  }

  @Test("calls are made on the requested thread")
  func thread() async throws {
    let bench = try Bench()
    let loop = try ThreadLoop(name: "loop")
    let threads = Outcomes<Bool>()
    let onLoop = Listener { _, _ in threads.add(loop.isCurrent) }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: onLoop, on: .loop(loop))
    try await bench.transport.next().respond(body: "x")
    await threads.wait(for: 3)
    #expect(threads.values == [true, true, true])

    let names = Outcomes<String>()
    let onOwn = Listener { _, _ in names.add(ManagedThread.current.name) }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: onOwn)
    try await bench.transport.next().respond(body: "x")
    await names.wait(for: 3)
    #expect(names.values.allSatisfy { $0.hasPrefix("headgate-delegat") })
    loop.stop()
  }

  @Test("a failure is reported after the data that preceded it, with its code")
  func failure() async throws {
    let bench = try Bench()
    let listener = Listener()
    let operation = bench.dispatcher.dispatchShort(try bench.request(), delegate: listener)
    let exchange = try await bench.transport.next()
    exchange.head()
    exchange.body([1])
    exchange.body([2])
    exchange.end(DispatchError(.connectionLost, phase: .receiving))
    await listener.calls.wait(for: 4)
    #expect(listener.heard == ["response 200", "data 1", "data 2", "failed connection_lost"])
    #expect(operation.state == .failed)
    #expect(operation.error?.code == .connectionLost)
    #expect(bench.isClean())
  }

  @Test("D31 a cancellation is reported at once, and pending calls are dropped")
  func cancel() async throws {
    let bench = try Bench()
    let (inside, release) = (Gate(), Gate())
    let listener = Listener { call, _ in
      guard call == "data 1" else { return }
      inside.open()
      block(until: release)
    }
    let operation = bench.dispatcher.dispatchShort(try bench.request(), delegate: listener)
    let exchange = try await bench.transport.next()
    exchange.head()
    exchange.body([1])
    try await inside.wait()
    exchange.body([2])
    operation.cancel()
    #expect(operation.state == .cancelled)
    #expect(exchange.isCancelled)
    #expect(bench.counts.running == 0)
    release.open()
    await bench.dispatcher.shutDown(.drain)
    #expect(listener.heard == ["response 200", "data 1", "cancelled"])
  }

  @Test("a delegate that cancels inside a call is told of the cancellation, and nothing else")
  func cancelInside() async throws {
    let bench = try Bench()
    let listener = Listener { call, operation in if call == "data 1" { operation.cancel() } }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: listener)
    let exchange = try await bench.transport.next()
    exchange.head()
    exchange.body([1])
    try await exchange.cancelled.wait()
    await listener.calls.wait(for: 3)
    #expect(listener.heard == ["response 200", "data 1", "cancelled"])
    #expect(bench.isClean())
  }

  @Test("a transport that delivers two responses is reported twice")
  func twoResponses() async throws {
    let bench = try Bench()
    let listener = Listener()
    let operation = bench.dispatcher.dispatchShort(try bench.request(), delegate: listener)
    let exchange = try await bench.transport.next()
    exchange.head(206)
    exchange.body([1])
    exchange.head(200)
    exchange.body([2])
    exchange.end()
    await listener.calls.wait(for: 5)
    #expect(listener.heard == ["response 206", "data 1", "response 200", "data 2", "finished"])
    #expect(operation.response?.statusCode == 200)
  }

  @Test("D57 the request of a released delegate is cancelled, and its permit is free again")
  func goneMidFlight() async throws {
    let bench = try Bench(requests: 1)
    let gone = Gate()
    let calls: Outcomes<String>
    let operation: URLDispatchOperation
    do {
      let listener = Listener(gone: gone)
      calls = listener.calls
      operation = bench.dispatcher.dispatchShort(try bench.request(), delegate: listener)
    }
    let exchange = try await bench.transport.next()
    try await gone.wait()
    exchange.head()
    try await exchange.cancelled.wait()
    await bench.dispatcher.shutDown(.drain)
    #expect(calls.count == 0)
    #expect(operation.state == .cancelled)
    #expect(bench.isClean())
  }

  @Test("D58 a slow delegate pauses its own socket, at a quarter of a megabyte, and no other")
  func slow() async throws {
    let bench = try Bench(requests: 20)
    let (inside, release) = (Gate(), Gate())
    let slow = Listener { call, _ in
      guard call == "data 1" else { return }
      inside.open()
      block(until: release)
    }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: slow)
    let exchange = try await bench.transport.next()
    exchange.head()
    #expect(exchange.body([1]) == .more)
    try await inside.wait()
    let piece = [UInt8](repeating: 2, count: 128 * 1024)
    #expect(exchange.body(piece) == .more)
    #expect(exchange.body(piece) == .pause)
    for _ in 0..<10 {
      let other = Listener()
      bench.dispatcher.dispatchShort(try bench.request(), delegate: other)
      try await bench.transport.next().respond(body: "x")
      await other.calls.wait(for: 3)
    }
    #expect(!exchange.resumed.isOpen)
    release.open()
    try await exchange.resumed.wait()
    exchange.end()
    await bench.dispatcher.shutDown(.drain)
    #expect(slow.heard.last == "finished")
    #expect(slow.bytes.withLock { $0 } == 256 * 1024 + 1)
  }

  @Test("the idle limit is suspended while a delegate holds its transfer")
  func idleRests() async throws {
    let bench = try Bench()
    let (inside, release) = (Gate(), Gate())
    let listener = Listener { call, _ in
      guard call == "data 1" else { return }
      inside.open()
      block(until: release)
    }
    var request = try bench.request()
    request.idleTimeout = .seconds(5)
    let operation = try bench.dispatcher.dispatchLong(request, delegate: listener)
    let exchange = try await bench.transport.next()
    exchange.head()
    #expect(exchange.body([UInt8](repeating: 1, count: 256 * 1024)) == .pause)
    try await inside.wait()
    bench.clock.advance(by: .seconds(3600))
    #expect(operation.state == .running)
    release.open()
    try await exchange.resumed.wait()
    bench.clock.advance(by: .seconds(5))
    await listener.calls.wait(for: 3)
    #expect(listener.heard.last == "failed idle_timed_out")
  }

  @Test(
    "a target that takes no calls ends the request, and its handle gives the reason",
    arguments: ["loop", "throws", "drops", "pool", "full"])
  func deafTarget(_ kind: String) async throws {
    let bench = try Bench(requests: 1)
    let (inside, release) = (Gate(), Gate())
    let pool = try ThreadPool(name: "one", size: 1, queueBound: 0)
    let loop = try ThreadLoop(name: "loop")
    let target: Delivery?
    switch kind {
    case "loop":
      loop.stop()
      target = .loop(loop)
    case "throws": target = .submitting { _ in throw Unexpected() }
    case "drops": target = .submitting { _ in }
    case "pool":
      pool.dispose()
      target = .pool(pool)
    default:
      try pool.execute {
        inside.open()
        block(until: release)
      }
      await inside.waitRegardless()
      target = .pool(pool)
    }
    let listener = Listener()
    let operation = bench.dispatcher.dispatchShort(try bench.request(), delegate: listener, on: target)
    let exchange = try await bench.transport.next()
    exchange.head()
    #expect(operation.error?.code == .deliveryFailed)
    #expect(exchange.isCancelled)
    await bench.dispatcher.shutDown(.drain)
    #expect(listener.heard.isEmpty)
    #expect(bench.isClean())
    release.open()
    loop.stop()
  }

  @Test("a target that calls twice has only one effect")
  func calledTwice() async throws {
    let bench = try Bench()
    let pool = try ThreadPool(name: "four", size: 4)
    let twice = Delivery.submitting { call in
      try pool.execute { call() }
      try pool.execute { call() }
    }
    let listener = Listener()
    bench.dispatcher.dispatchShort(try bench.request(), delegate: listener, on: twice)
    try await bench.transport.next().respond(body: "a")
    await bench.dispatcher.shutDown(.drain)
    #expect(listener.heard == ["response 200", "data 97", "finished"])
    pool.dispose()
  }

  @Test("a shutdown returns when the delegates have returned from their last calls")
  func shutdown() async throws {
    let bench = try Bench()
    let (inside, release) = (Gate(), Gate())
    let order = Outcomes<String>()
    let listener = Listener { call, _ in
      guard call == "finished" else { return }
      inside.open()
      block(until: release)
      order.add("told")
    }
    bench.dispatcher.dispatchShort(try bench.request(), delegate: listener)
    try await bench.transport.next().respond()
    try await inside.wait()
    async let down: Void = {
      await bench.dispatcher.shutDown(.drain)
      order.add("down")
    }()
    // Neither the permit nor the transport waits for the delegate. The caller of the shutdown does.
    while !bench.transport.isShutDown { await Task.yield() }
    for _ in 0..<1_000 { await Task.yield() }
    #expect(bench.counts.running == 0)
    #expect(order.count == 0)
    release.open()
    await down
    #expect(order.values == ["told", "down"])
  }

  @Test("a refused request is reported through the delegate")
  func refused() async throws {
    let bench = try Bench(requests: 1, waiting: 0)
    let (first, second) = (Listener(), Listener())
    bench.dispatcher.dispatchShort(try bench.request(), delegate: first)
    let operation = bench.dispatcher.dispatchShort(try bench.request(), delegate: second)
    await second.calls.wait(for: 1)
    #expect(second.heard == ["failed refused"])
    #expect(operation.state == .failed)
    try await bench.transport.next().respond()
    await first.calls.wait(for: 2)
    #expect(bench.isClean())
  }

  @Test("a handle reports the state of its request, from its submission to its end")
  func handle() async throws {
    let bench = try Bench(requests: 1)
    let listener = Listener()
    let running = bench.dispatcher.dispatchShort(try bench.request("/first", host: "Example.COM."), delegate: listener)
    let waiting = bench.dispatcher.dispatchShort(try bench.request("/second", host: "example.com"), delegate: listener)
    #expect((running.state, waiting.state) == (.running, .waiting))
    #expect(running.endPoint.description == "example.com:80")
    #expect(running.lane == .short)
    #expect(running.response == nil && running.error == nil && running.times == nil)
    #expect(running == running && running != waiting && Set([running, waiting, running]).count == 2)
    bench.clock.advance(by: .seconds(3))
    try await bench.transport.next().respond(404)
    #expect((running.state, waiting.state) == (.finished, .running))
    #expect(running.state.hasEnded && !waiting.state.hasEnded)
    #expect(running.response?.statusCode == 404)
    #expect((running.times?.total, running.times?.queued) == (.seconds(3), .zero))
    waiting.cancel()
    #expect(waiting.error?.code == .cancelled)
    #expect(waiting.times?.queued == .seconds(3))
    await bench.dispatcher.shutDown(.drain)
  }

  @Test("after a redirect a handle has the end-point and the URL of its target")
  func redirected() async throws {
    let bench = try Bench(requests: 1)
    let listener = Listener()
    let operation = bench.dispatcher.dispatchShort(try bench.request("/old"), delegate: listener)
    try await bench.transport.next().respond(302, [.location: "http://b:81/new"])
    #expect(operation.request.url == "http://a/old")
    #expect(operation.url == "http://b:81/new")
    #expect(operation.endPoint.description == "b:81")
    #expect(operation.response == nil)
    try await bench.transport.next().respond()
    await listener.calls.wait(for: 2)
    #expect(listener.heard == ["response 200", "finished"])
    #expect(bench.isClean())
  }
}
