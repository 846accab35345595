import HTTPTypes
import HeadgateDispatch
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

/// Several dispatchers with one gate, and several gates for one end-point.
@Suite struct SharedGateTests {
  private func pair(requests: Int) throws -> (Bench, URLDispatcher, ScriptedTransport) {
    let bench = try Bench(requests: requests)
    let transport = ScriptedTransport()
    return (bench, URLDispatcher(transport: transport, sharing: bench.dispatcher.gate), transport)
  }

  @Test("D74 dispatchers with a shared gate and separate transports share its limit, first come, first served")
  func oneLimit() async throws {
    let (bench, second, transport) = try pair(requests: 2)
    let responses = Responses()
    let request = try bench.request()
    for _ in 0..<3 {
      bench.send(request, into: responses)
      second.dispatch(request) { responses.add($0) }
    }
    #expect(bench.transport.running(at: request.endPoint) + transport.running(at: request.endPoint) == 2)
    for _ in 0..<3 {
      bench.transport.takeStarted()?.respond()
      transport.takeStarted()?.respond()
    }
    #expect(responses.count == 6)
    #expect(bench.counts.peak == 2)
    await second.shutDown()
    await bench.dispatcher.shutDown()
  }

  @Test("a dispatcher with a shared gate drains: requests that wait for a stopped end-point end")
  func drainsBesidePause() async throws {
    let (bench, second, _) = try pair(requests: 1)
    let responses = Responses()
    let request = try bench.request()
    bench.dispatcher.gate.stop(request.endPoint)
    second.dispatch(request) { responses.add($0) }
    await second.shutDown(.drain)
    #expect(responses.values.map(\.code) == [.shutDown])
    await bench.dispatcher.shutDown()
  }

  @Test("a dispatcher with a shared gate drains: an end-point that is stopped meanwhile ends what waits there")
  func drainsDuringPause() async throws {
    let (bench, second, transport) = try pair(requests: 1)
    let (waiting, redirected) = (Responses(), Responses())
    let stopped = try bench.request()
    bench.send(stopped, into: Responses())
    second.dispatch(stopped) { waiting.add($0) }
    second.dispatch(try bench.request("http://elsewhere.example/")) { redirected.add($0) }
    second.beginShutDown(.drain)
    #expect(waiting.values.isEmpty)
    bench.dispatcher.gate.stop(stopped.endPoint)
    #expect(waiting.values.map(\.code) == [.shutDown])
    // The other one comes there by a redirect.
    transport.takeStarted()?.respond(302, [.location: stopped.url])
    #expect(redirected.values.map(\.code) == [.shutDown])
    await second.shutDown(.drain)
    bench.transport.takeStarted()?.respond()
    bench.dispatcher.gate.resume(stopped.endPoint)
    await bench.dispatcher.shutDown()
  }

  @Test(
    "a dispatcher with a shared gate ends by itself: the gate and the others continue",
    arguments: [
      ShutdownMode.drain, .graceful, .now,
    ])
  func endsAlone(mode: ShutdownMode) async throws {
    let (bench, second, transport) = try pair(requests: 1)
    let mine = Responses()
    let theirs = Responses()
    second.dispatch(try bench.request("/running")) { theirs.add($0) }
    second.dispatch(try bench.request("/waiting")) { theirs.add($0) }
    bench.send(try bench.request("/mine"), into: mine)
    second.beginShutDown(mode)
    second.dispatch(try bench.request("/late")) { theirs.add($0) }
    #expect(theirs.values.contains { $0.code == .shutDown })
    while let exchange = transport.takeStarted() { exchange.respond() }
    await second.shutDown(mode)
    let codes = theirs.values.map(\.code)
    #expect(codes.count == 3)
    #expect(codes.filter { $0 == .shutDown }.count == (mode == .drain ? 1 : mode == .graceful ? 2 : 3))
    #expect(transport.isShutDown)
    #expect(!bench.transport.isShutDown)
    bench.transport.takeStarted()?.respond()
    #expect(mine.values.map(\.code) == [nil])
    #expect(bench.isClean())
    await bench.dispatcher.shutDown()
  }

  @Test("an idle dispatcher closes its transport at once, and a second shutdown changes nothing")
  func idle() async throws {
    let (bench, second, transport) = try pair(requests: 1)
    await second.shutDown()
    await second.shutDown(.now)
    #expect(transport.isShutDown)
    await bench.dispatcher.shutDown()
  }

  @Test("a released dispatcher finishes the requests that it has accepted")
  func letGo() async throws {
    let bench = try Bench(requests: 1)
    let transport = ScriptedTransport()
    let responses = Responses()
    do {
      let second = URLDispatcher(transport: transport, sharing: bench.dispatcher.gate)
      second.dispatch(try bench.request()) { responses.add($0) }
    }
    #expect(!transport.isShutDown)
    transport.takeStarted()?.respond()
    #expect(responses.values.map(\.code) == [nil])
    #expect(transport.isShutDown)
    await bench.dispatcher.shutDown()
  }

  @Test("the end of the dispatcher that made the gate ends those that share it")
  func ownerEnds() async throws {
    let (bench, second, _) = try pair(requests: 1)
    let responses = Responses()
    second.dispatch(try bench.request("/1")) { responses.add($0) }
    second.dispatch(try bench.request("/2")) { responses.add($0) }
    bench.dispatcher.dispose()
    second.dispatch(try bench.request("/3")) { responses.add($0) }
    #expect(responses.values.map(\.code) == [.shutDown, .shutDown, .shutDown])
    await bench.dispatcher.shutDown(.now)
    await second.shutDown(.now)
  }

  @Test("the end of the dispatcher that made the gate ends the others' requests that are between two attempts")
  func ownerEndsOutside() async throws {
    let (bench, second, transport) = try pair(requests: 1)
    let responses = Responses()
    var request = try bench.request("/1")
    request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(30)), budget: .none)
    second.dispatch(request) { responses.add($0) }
    try #require(transport.takeStarted()).respond(503)
    #expect(responses.count == 0)
    bench.dispatcher.dispose()
    #expect(responses.values.map(\.code) == [.shutDown])
    await second.shutDown(.now)
  }

  @Test("a second gate that is busy at the same end-point is reported once, and a shared gate is not")
  func twoGates() throws {
    let book = LogBook()
    let clock = ManualClock()
    let endPoints = try (0..<3).map { try EndPoint(host: "shared\($0).example", port: 80) }
    let first = EndPointGate(timers: clock, logger: book.logger())
    let second = EndPointGate(timers: clock, logger: book.logger())
    let permits = Outcomes<Permit>()
    func ask(_ gate: EndPointGate, _ endPoint: EndPoint) {
      gate.requestPermit(for: endPoint) { if let permit = try? $0.get() { permits.add(permit) } }
    }
    ask(first, endPoints[0])
    ask(first, endPoints[0])
    ask(second, endPoints[1])
    #expect(book.lines.count == 0)
    ask(second, endPoints[0])
    #expect(book.lines.count == 1)
    #expect(book.lines.last?.contains("shared0.example:80") == true)
    ask(first, endPoints[2])
    ask(second, endPoints[2])
    #expect(book.lines.count == 1)
    for permit in permits.values { permit.release() }
  }

  @Test("a second gate is also reported by a submission inside a delivery")
  func insideDelivery() throws {
    let book = LogBook()
    let clock = ManualClock()
    let endPoint = try EndPoint(host: "inside.example", port: 80)
    let outer = try EndPoint(host: "outside.example", port: 80)
    let first = EndPointGate(timers: clock, logger: book.logger())
    let second = EndPointGate(timers: clock, logger: book.logger())
    let permits = Outcomes<Permit>()
    first.requestPermit(for: endPoint) { if let permit = try? $0.get() { permits.add(permit) } }
    second.requestPermit(for: outer) { permit in
      second.requestPermit(for: endPoint) { if let permit = try? $0.get() { permits.add(permit) } }
      if let permit = try? permit.get() { permits.add(permit) }
    }
    #expect(permits.count == 3)
    #expect(book.lines.values.count { $0.contains("inside.example:80") } == 1)
    for permit in permits.values { permit.release() }
  }

  @Test("a released gate is not a second gate")
  func gateIsGone() throws {
    let book = LogBook()
    let endPoint = try EndPoint(host: "gone.example", port: 80)
    do {
      let gate = EndPointGate(timers: ManualClock(), logger: book.logger())
      gate.requestPermit(for: endPoint) { (try? $0.get())?.release() }
    }
    let gate = EndPointGate(timers: ManualClock(), logger: book.logger())
    gate.requestPermit(for: endPoint) { (try? $0.get())?.release() }
    #expect(book.lines.count == 0)
  }

  @Test("gates may be released while others check the same end-point")
  func gatesThatGo() throws {
    let endPoint = try EndPoint(host: "crowd.example", port: 80)
    let threads = try (0..<4).map { number in
      try WorkerThread(name: "gates") {
        for _ in 0..<500 {
          let gate = EndPointGate(timers: ManualClock(), logger: LogBook().logger())
          gate.requestPermit(for: endPoint) { (try? $0.get())?.release() }
        }
      }
    }
    for thread in threads { thread.join() }
  }
}
