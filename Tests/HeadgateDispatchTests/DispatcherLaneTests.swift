import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Sections E, F and G of the cases: lanes, order, re-entrancy; and the bound on waiting requests.
@Suite struct DispatcherLaneTests {
  @Test("D49 async callers, callbacks and permits are served in the order of their arrival")
  func oneOrder() async throws {
    let order = Outcomes<String>()
    let transport = ScriptedTransport { exchange in
      order.add(String(exchange.request.url.suffix(1)))
      exchange.respond()
    }
    let bench = try Bench(requests: 1, transport: transport)
    let endPoint = try bench.request().endPoint
    let first = try await bench.dispatcher.gate.permit(for: endPoint)
    var tasks: [Task<DispatchResponse, any Error>] = []
    for number in 0..<9 {
      let request = try bench.request("/\(number)")
      switch number % 3 {
      case 0: bench.dispatcher.dispatch(request) { _ in }
      case 1:
        bench.dispatcher.gate.requestPermit(for: endPoint) { result in
          order.add("\(number)")
          (try? result.get())?.release()
        }
      default:
        tasks.append(Task { try await bench.dispatcher.data(for: request) })
        // The next one may come only after this one is queued.
        while bench.counts.waiting <= number { await Task.yield() }
      }
    }
    first.release()
    for task in tasks { _ = try await task.value }
    #expect(order.values == (0..<9).map { "\($0)" })
    #expect(bench.isClean())
  }

  @Test("D54 a completion that submits to the saturated end-point neither deadlocks nor recurses")
  func submitInCompletion() async throws {
    let transport = ScriptedTransport { $0.respond(body: "x") }
    let bench = try Bench(requests: 1, transport: transport, observers: [])
    let done = Gate()
    let left = LockedBox(many)
    let request = try bench.request()
    // Each completion runs inside its start. Nested, they would overflow the stack.
    @Sendable func again() {
      let isLast = left.withLock { left in
        left -= 1
        return left == 0
      }
      if isLast { return done.open() }
      bench.dispatcher.dispatch(request) { _ in again() }
    }
    let thread = try WorkerThread(name: "small stack", stackSize: 256 * 1024) { again() }
    try await done.wait()
    thread.join()
    #expect(bench.counts.peak == 1)
  }

  @Test("any number of requests that complete inside their starts need no more stack than one")
  func synchronousCompletions() async throws {
    let first = Outcomes<ScriptedExchange>()
    let isOpen = LockedBox(false)
    let transport = ScriptedTransport { exchange in
      if isOpen.withLock({ $0 }) { exchange.respond() } else { first.add(exchange) }
    }
    let bench = try Bench(requests: 1, waiting: many, transport: transport, observers: [])
    let count = LockedBox(0)
    let done = Gate()
    let request = try bench.request()
    for _ in 0..<many {
      bench.dispatcher.dispatch(request) { _ in
        let isLast = count.withLock { count in
          count += 1
          return count == many
        }
        if isLast { done.open() }
      }
    }
    isOpen.withLock { $0 = true }
    let exchange = first.values[0]
    let thread = try WorkerThread(name: "small stack", stackSize: 256 * 1024) { exchange.respond() }
    // The caller delivered a few of them. The rest moved to another thread.
    thread.join()
    try await done.wait()
    #expect(bench.counts.running == 0)
  }

  @Test("D63 with streams at their limit everywhere a short request to each end-point starts at once")
  func shortBesideStreams() async throws {
    let bench = try Bench(requests: 2, long: 1)
    var streams: [StreamedResponse] = []
    for number in 0..<10 {
      streams.append(try await withStream(bench, try bench.request(host: "h\(number)"), .long) { $0.head() })
    }
    let responses = Responses()
    for number in 0..<10 { bench.send(try bench.request(host: "h\(number)"), into: responses) }
    for _ in 0..<10 { bench.transport.takeStarted()?.respond() }
    #expect(responses.count == 10)
    for stream in streams { stream.body.cancel() }
    #expect(bench.isClean())
  }

  @Test("beyond the bound on waiting requests a request is refused, unless it can run at once")
  func refuse() async throws {
    let bench = try Bench(requests: 1, waiting: 1)
    let responses = Responses()
    for _ in 0..<3 { bench.send(try bench.request(), into: responses) }
    #expect(responses.values.map(\.code) == [.refused])
    bench.send(try bench.request(host: "other"), into: responses)
    for _ in 0..<3 { try await bench.transport.next().respond() }
    #expect(responses.values.map(\.code) == [.refused, nil, nil, nil])
    #expect(bench.isClean())
  }

  @Test("under the policy `wait` a caller is suspended until there is room, and keeps its place in the queue")
  func hold() async throws {
    let bench = try Bench(requests: 1, waiting: 1, overflow: .wait)
    let responses = Responses()
    let request = try bench.request()
    await bench.dispatcher.dispatch(enqueuing: request) { responses.add($0) }
    await bench.dispatcher.dispatch(enqueuing: request) { responses.add($0) }
    let accepted = Outcomes<Int>()
    let task = Task {
      await bench.dispatcher.dispatch(enqueuing: request) { responses.add($0) }
      accepted.add(3)
    }
    let blocked = try WorkerThread(name: "blocking") {
      _ = try? bench.dispatcher.dispatch(enqueuing: request) { responses.add($0) }
      accepted.add(4)
    }
    while bench.counts.waiting < 3 { await Task.yield() }
    #expect(accepted.count == 0)
    try await bench.transport.next().respond()
    await accepted.wait(for: 1)
    try await bench.transport.next().respond()
    await accepted.wait(for: 2)
    for _ in 0..<2 { try await bench.transport.next().respond() }
    await responses.wait(for: 4)
    await task.value
    blocked.join()
    #expect(bench.isClean())
  }

  @Test("a blocking call in a completion throws instead of blocking the caller")
  func blockingInCompletion() async throws {
    let bench = try Bench(requests: 1, waiting: 0, overflow: .wait)
    let request = try bench.request()
    let thrown = Outcomes<DispatchError.Code?>()
    bench.dispatcher.dispatch(request) { _ in
      do throws(DispatchError) {
        try bench.dispatcher.dispatch(enqueuing: request) { _ in }
        thrown.add(nil)
      } catch { thrown.add(error.code) }
    }
    let exchange = try await bench.transport.next()
    let service = try WorkerThread(name: "service", serves: true) { exchange.respond() }
    service.join()
    #expect(thrown.values == [.wouldBlock])
    #expect(bench.isClean())
  }

  @Test("a reader that has room again before the transport is known is not forgotten")
  func missedResume() async throws {
    let resumed = Gate()
    let transport = EagerTransport(resumed)
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 1))
    let dispatcher = URLDispatcher(transport: transport, limits: limits, timers: ManualClock())
    let request = try DispatchRequest("http://a/")
    let permit = try await dispatcher.gate.permit(for: request.endPoint)
    let task = Task {
      let response = try await dispatcher.stream(for: request)
      // A waiting reader would receive the piece directly, and nothing would be paused.
      await transport.filled.waitRegardless()
      var bytes = 0
      for try await piece in response.body {
        bytes += piece.count
        // Everything has been read, so the transport may return from its start.
        transport.drained.open()
      }
      return bytes
    }
    while dispatcher.gate.counts.waiting == 0 { await Task.yield() }
    // The start happens here, and blocks this thread until the reader has read.
    let starter = try WorkerThread(name: "starter") { permit.release() }
    #expect(try await task.value == EagerTransport.size)
    starter.join()
    #expect(resumed.isOpen)
  }

  @Test("a shutdown returns when every caller has its result")
  func shutdownWaitsForCallers() async throws {
    for _ in 0..<200 {
      let bench = try Bench(requests: 2)
      let responses = Responses()
      for _ in 0..<3 { bench.send(try bench.request(), into: responses) }
      let exchange = try await bench.transport.next()
      let other = try WorkerThread(name: "transport") {
        exchange.respond()
        while let next = bench.transport.takeStarted() { next.respond() }
      }
      async let closed: Void = bench.dispatcher.shutDown(.now)
      await closed
      #expect(responses.count == 3)
      other.join()
    }
  }
}

/// Delivers more than a reader's buffer holds inside `start`, and returns from it only after everything was read.
private final class EagerTransport: Transport {
  static let size = 256 * 1024 + 10
  let filled = Gate()
  let drained = Gate()
  private let resumed: Gate

  init(_ resumed: Gate) { self.resumed = resumed }

  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    let (filled, drained, resumed) = (filled, drained, resumed)
    let told = Gate()
    _ = try? WorkerThread(name: "eager") {
      _ = events.received(ResponseHead(statusCode: 200))
      let flow = Array(repeating: UInt8(1), count: 256 * 1024).withUnsafeBytes { events.received($0) }
      #expect(flow == .pause)
      filled.open()
      _ = drained.wait(until: .after(.seconds(60)))
      told.open()
      _ = resumed.wait(until: .after(.seconds(60)))
      _ = Array(repeating: UInt8(1), count: 10).withUnsafeBytes { events.received($0) }
      events.ended(ExchangeEnd())
    }
    // Blocks the caller on purpose: the reader must be done before the operation has its control.
    waitBlocking(told)
    return Control(resumed)
  }

  private func waitBlocking(_ gate: Gate) { _ = gate.wait(until: .after(.seconds(60))) }

  private final class Control: ExchangeControl {
    private let resumed: Gate
    init(_ resumed: Gate) { self.resumed = resumed }
    func cancel() {}
    func resume() { resumed.open() }
    var phase: DispatchError.Phase { .receiving }
  }
}
