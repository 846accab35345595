import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Section A of the cases: the count of permits.
@Suite struct DispatcherPermitTests {
  @Test("D02 a failed connection returns the permit and the next one starts")
  func failedConnection() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    for _ in 0..<2 { bench.send(try bench.request(), into: responses) }
    let first = try await bench.transport.next()
    #expect(bench.transport.takeStarted() == nil)
    first.end(DispatchError(.connectFailed, phase: .connecting))
    let second = try await bench.transport.next()
    second.respond(body: "ok")
    #expect(responses.values.map(\.code) == [.connectFailed, nil])
    #expect(bench.isClean())
  }

  @Test("D03 releasing an unread body cancels its request and frees the permit")
  func droppedBody() async throws {
    let bench = try Bench(requests: 1)
    let request = try bench.request()
    var response: StreamedResponse? = try await withStream(bench, request) { $0.head() }
    #expect(response?.statusCode == 200)
    #expect(bench.counts.running == 1)
    response = nil
    #expect(bench.counts.running == 0)
    #expect(bench.isClean())
  }

  @Test("D03 a permit is released with its last reference, and the log names where it was acquired")
  func leakedPermit() throws {
    let book = LogBook()
    let gate = EndPointGate(limits: try GateLimits(endPoint: EndPointLimits(requests: 1)), logger: book.logger())
    // A unique one: a gate of another test that is busy at the same end-point would be reported too.
    let endPoint = try EndPoint(host: "leaked.example", port: 1)
    gate.requestPermit(for: endPoint) { _ in }
    #expect(gate.counts.running == 0)
    #expect(book.lines.count == 1)
    #expect(book.lines.values.first?.contains("DispatcherPermitTests.swift:") == true)
  }

  @Test("D04 a permit that is released twice counts once")
  func releasedTwice() throws {
    let gate = EndPointGate(limits: try GateLimits(endPoint: EndPointLimits(requests: 2)))
    let endPoint = try EndPoint(host: "a", port: 1)
    let permits = Outcomes<Permit>()
    for _ in 0..<2 { gate.requestPermit(for: endPoint) { if let permit = try? $0.get() { permits.add(permit) } } }
    #expect(permits.values[0].release())
    #expect(!permits.values[0].release())
    #expect(gate.counts.running == 1)
    #expect(permits.values[1].release())
    #expect(gate.counts.running == 0)
  }

  @Test("D05 an error status, and a response before the whole request is sent, return the permit")
  func errorStatus() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    var upload = try bench.request()
    upload.method = .post
    upload.body = RequestBody(Array(repeating: 1, count: 1 << 20))
    bench.send(upload, into: responses)
    try await bench.transport.next().respond(413, body: "too large")
    #expect(try responses.values.first?.get().statusCode == 413)
    #expect(bench.isClean())
  }

  @Test("D06 a lower limit ends nothing and starts nothing until it fits; a higher one starts all that it allows")
  func changedLimits() async throws {
    let bench = try Bench(requests: 4)
    let responses = Responses()
    for _ in 0..<12 { bench.send(try bench.request(), into: responses) }
    var running: [ScriptedExchange] = []
    for _ in 0..<4 { running.append(try await bench.transport.next()) }
    bench.dispatcher.gate.setLimits(try EndPointLimits(requests: 2), for: try bench.request().endPoint)
    #expect(bench.counts.running == 4)
    running.removeFirst().respond()
    running.removeFirst().respond()
    #expect(bench.transport.takeStarted() == nil)
    running.removeFirst().respond()
    running.append(try await bench.transport.next())
    #expect(bench.counts.running == 2)
    bench.dispatcher.gate.setLimits(try EndPointLimits(requests: 6), for: try bench.request().endPoint)
    for _ in 0..<4 { running.append(try await bench.transport.next()) }
    #expect(bench.counts.running == 6)
    while !running.isEmpty || responses.count < 12 {
      if running.isEmpty { running.append(try await bench.transport.next()) }
      running.removeFirst().respond()
    }
    #expect(bench.isClean())
  }

  @Test("D10 short requests keep to their limit beside a long stream")
  func shortBesideLong() async throws {
    let bench = try Bench(requests: 3, long: 1)
    let request = try bench.request()
    let stream = try await withStream(bench, request, .long) { $0.head() }
    let responses = Responses()
    for _ in 0..<9 { bench.send(request, into: responses) }
    for _ in 0..<9 {
      // One permit is the stream's, so two short requests run.
      #expect(bench.counts.running == min(3, 1 + 9 - responses.count))
      try await bench.transport.next().respond()
    }
    #expect(responses.count == 9)
    #expect(bench.transport.peak(at: request.endPoint) == 3)
    stream.body.cancel()
    #expect(bench.isClean())
  }

  @Test("D11 work that throws under a permit returns it")
  func throwingWork() async throws {
    struct Fault: Error {}
    let gate = EndPointGate(limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
    let endPoint = try EndPoint(host: "a", port: 1)
    await #expect(throws: Fault.self) { try await gate.withPermit(for: endPoint) { throw Fault() } }
    #expect(gate.counts.running == 0)
    #expect(try await gate.withPermit(for: endPoint) { 7 } == 7)
  }

  @Test("D12 D119 after the shutdown all waiting requests have failed once, and later ones fail too")
  func shutdownFailsTheQueue() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    for _ in 0..<5 { bench.send(try bench.request(), into: responses) }
    let running = try await bench.transport.next()
    async let closed: Void = bench.dispatcher.shutDown(.graceful)
    await responses.wait(for: 4)
    #expect(responses.values.allSatisfy { $0.code == .shutDown })
    running.respond()
    await closed
    #expect(bench.transport.isShutDown)
    bench.send(try bench.request(), into: responses)
    #expect(responses.values.map { $0.code } == [.shutDown, .shutDown, .shutDown, .shutDown, nil, .shutDown])
    #expect(bench.isClean())
  }
}

/// Opens a stream and plays its exchange meanwhile.
func withStream(
  _ bench: Bench, _ request: DispatchRequest, _ lane: RequestLane = .short,
  _ play: @escaping @Sendable (ScriptedExchange) -> Void
) async throws -> StreamedResponse {
  async let response = bench.dispatcher.stream(for: request, lane: lane)
  play(try await bench.transport.next())
  return try await response
}
