import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Behaviour when more requests are submitted than may wait.
@Suite struct OverflowTests {
  private func send(
    _ paths: [(String, RequestPriority)], _ bench: Bench, into responses: Outcomes<String>
  ) throws {
    for (path, priority) in paths {
      var request = try bench.request(path)
      request.priority = priority
      bench.dispatcher.dispatch(request) { result in
        responses.add("\(path) \(result.code?.description ?? "ok")")
      }
    }
  }

  @Test("dropOldest: the request that has waited longest gives way to any other")
  func dropOldest() async throws {
    let bench = try Bench(requests: 1, waiting: 2, overflow: .dropOldest)
    let ends = Outcomes<String>()
    try send([("/run", .normal), ("/1", .urgent), ("/2", .normal), ("/3", .background)], bench, into: ends)
    #expect(ends.values == ["/1 displaced"])
    #expect(bench.counts.waiting == 2)
    for _ in 0..<3 { (try await bench.transport.next()).respond() }
    #expect(ends.values == ["/1 displaced", "/run ok", "/2 ok", "/3 ok"])
    #expect(bench.isClean())
  }

  /// A server that takes 10 ms per request, one after another, receives a request every 5 ms with a deadline of 50 ms.
  ///
  /// - Returns: How the first two hundred ended, and the number of each outcome.
  private func overload(waiting: Int) async throws -> [String: Int] {
    let bench = try Bench(requests: 1, waiting: waiting, overflow: .dropOldest)
    let ends = Outcomes<String>()
    var request = try bench.request()
    request.deadline = .milliseconds(50)
    var running: ScriptedExchange?
    for number in 0..<200 {
      bench.dispatcher.dispatch(request) { result in ends.add(result.code?.description ?? "ok") }
      if number % 2 == 0 {
        if let running, !running.isCancelled { running.respond() }
        running = nil
        while let next = bench.transport.takeStarted() { running = next }
      }
      bench.clock.advance(by: .milliseconds(5))
    }
    await bench.dispatcher.shutDown(.now)
    #expect(bench.isClean())
    return Dictionary(grouping: ends.values, by: \.self).mapValues(\.count)
  }

  @Test("D52 dropOldest under twice the load: no served request is too late, while in a long queue nearly all are")
  func overloaded() async throws {
    let ends = try await overload(waiting: 3)
    #expect(ends["deadline_exceeded"] == nil)
    #expect(ends["ok"] ?? 0 >= 95)
    #expect(ends["displaced"] ?? 0 >= 95)
    let late = try await overload(waiting: 1_000)
    #expect(late["ok"] ?? 0 <= 20)
    #expect(late["deadline_exceeded"] ?? 0 >= 170)
  }

  @Test("dropLowest: the youngest of the least urgent gives way; a newcomer of no higher rank is refused")
  func dropLowest() async throws {
    let bench = try Bench(requests: 1, waiting: 2, overflow: .dropLowest)
    let ends = Outcomes<String>()
    try send(
      [("/run", .normal), ("/1", .low), ("/2", .low), ("/3", .background), ("/4", .urgent), ("/5", .low)], bench,
      into: ends)
    #expect(ends.values == ["/3 refused", "/2 displaced", "/5 refused"])
    for _ in 0..<3 { (try await bench.transport.next()).respond() }
    #expect(ends.values.suffix(3) == ["/run ok", "/4 ok", "/1 ok"])
    #expect(bench.isClean())
  }

  @Test("dropLowest: of two that have become equally urgent the younger gives way, as predicted", arguments: [0, 1])
  func equallyUrgent(_ late: Int) async throws {
    let bench = try Bench(requests: 1, waiting: 1, overflow: .dropLowest)
    let ends = Outcomes<String>()
    try send([("/run", .normal), ("/1", .low)], bench, into: ends)
    // A step of priority is worth ten seconds, and each request is a nanosecond younger than the one before.
    bench.clock.advance(by: .seconds(10) + .nanoseconds(1 + late))
    var next = try bench.request("/2")
    next.priority = .normal
    #expect(bench.dispatcher.gate.availability(for: next.endPoint) == .refused)
    try send([("/2", .normal)], bench, into: ends)
    #expect(ends.values == ["/2 refused"])
    for _ in 0..<2 { (try await bench.transport.next()).respond() }
    #expect(ends.values.suffix(2) == ["/run ok", "/1 ok"])
    #expect(bench.isClean())
  }

  @Test("the error of a request that gave way says so and names its end-point")
  func errorText() throws {
    let bench = try Bench(requests: 1, waiting: 1, overflow: .dropOldest)
    let responses = Responses()
    for path in ["/run", "/1", "/2"] { bench.send(try bench.request(path), into: responses) }
    let error = try #require(responses.last?.error)
    #expect(error.code == .displaced)
    #expect(error.phase == .waiting)
    #expect("\(error)".contains("a:80"))
    #expect("\(error)".contains("displaced"))
    bench.dispatcher.dispose()
  }

  @Test(
    "if none may wait a newcomer is refused under every policy",
    arguments: [
      OverflowPolicy.dropOldest, .dropLowest, .refuse,
    ])
  func noneMayWait(policy: OverflowPolicy) throws {
    let bench = try Bench(requests: 1, waiting: 0, overflow: policy)
    let responses = Responses()
    for path in ["/run", "/1"] { bench.send(try bench.request(path), into: responses) }
    #expect(responses.last?.code == .refused)
    bench.dispatcher.dispose()
  }

  @Test("the policy changes while callers are suspended: the request that gives way resumes with its error")
  func heldAndDropped() async throws {
    let bench = try Bench(requests: 1, waiting: 1, overflow: .wait)
    let request = try bench.request()
    bench.dispatcher.dispatch(request) { _ in }
    bench.dispatcher.dispatch(request) { _ in }
    let held = Task { try await bench.dispatcher.data(for: request) }
    while bench.counts.waiting < 2 { await Task.yield() }
    var limits = bench.dispatcher.limits
    limits.overflow = .dropLowest
    bench.dispatcher.setLimits(limits)
    var urgent = request
    urgent.priority = .urgent
    bench.dispatcher.dispatch(urgent) { _ in }
    let result = await held.result
    #expect(throws: DispatchError.self) { try result.get() }
    #expect(bench.counts.waiting == 2)
    for _ in 0..<3 { (try await bench.transport.next()).respond() }
    #expect(bench.isClean())
  }
}
