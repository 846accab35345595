import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Rates, weights, scopes and pauses through the gate, by a clock that the test controls.
@Suite struct GateLimiterTests {
  private typealias Results = Outcomes<Result<Permit, DispatchError>>

  private let clock = ManualClock()
  private let here: EndPoint
  private let there: EndPoint

  init() throws {
    here = try EndPoint(host: "a", port: 1)
    there = try EndPoint(host: "b", port: 1)
  }

  private func gate(_ endPoint: EndPointLimits, total: Int? = nil) throws -> EndPointGate {
    EndPointGate(limits: try GateLimits(endPoint: endPoint, total: total), timers: clock, logger: .silent)
  }

  private func ask(
    _ gate: EndPointGate, _ endPoint: EndPoint? = nil, scopes: [RequestScope] = [], weights: [String: Int] = [:],
    deadline: Duration? = nil, into results: Results
  ) -> PermitRequest {
    gate.requestPermit(
      for: endPoint ?? here, scopes: scopes, weights: weights, deadline: deadline, completion: results.add)
  }

  @Test(
    "D104 a rate applies beside the limit, with one timer; a request that is withdrawn while it waits costs nothing")
  func rate() throws {
    let gate = try gate(EndPointLimits(requests: 4, rates: [.spaced(10, per: .seconds(1))]))
    let results = Results()
    let requests = (0..<4).map { _ in ask(gate, into: results) }
    #expect(results.count == 1 && clock.pendingCount == 1)
    #expect(requests[1].waitReason?.description == "10/s, next in 102 ms")
    #expect(requests[3].waitReason?.description == "behind 2 others: 10/s, next in 102 ms")
    #expect(requests[3].waitReason?.kind == .rate && requests[0].waitReason == nil)
    requests[1].cancel()
    clock.advance(by: .milliseconds(101))
    #expect(results.count == 2 && clock.pendingCount == 1)
    clock.advance(by: .milliseconds(1))
    #expect(results.count == 3)
    clock.advance(by: .milliseconds(102))
    #expect(results.count == 4 && gate.counts.waiting == 0 && clock.pendingCount == 0)
    // Removing a limit ends the waits for it.
    _ = ask(gate, into: results)
    #expect(results.count == 4)
    gate.setLimits(try GateLimits(endPoint: EndPointLimits(requests: 9)))
    #expect(results.count == 5 && clock.pendingCount == 0)
  }

  @Test("a changed rate counts earlier starts")
  func changed() throws {
    let gate = try gate(EndPointLimits(requests: 9, rates: [.rolling(2, per: .seconds(10))]))
    let results = Results()
    for _ in 0..<5 { _ = ask(gate, into: results) }
    #expect(results.count == 2)
    gate.setLimits(try EndPointLimits(requests: 9, rates: [.rolling(3, per: .seconds(10))]), for: here)
    #expect(results.count == 3)
    gate.setLimits(try EndPointLimits(requests: 9, rates: [.spaced(1, per: .seconds(1))]), for: here)
    #expect(results.count == 3)
    clock.advance(by: .milliseconds(1020))
    #expect(results.count == 4)
  }

  @Test("the first rate of a gate counts the starts that its own change allows")
  func firstRate() throws {
    let gate = try gate(EndPointLimits(requests: 2))
    let results = Results()
    clock.advance(by: .seconds(500))
    for _ in 0..<9 { _ = ask(gate, into: results) }
    #expect(results.count == 2)
    gate.setLimits(try EndPointLimits(requests: 9, rates: [.rolling(3, per: .seconds(60))]), for: here)
    #expect(results.count == 5)
    clock.advance(by: .seconds(59))
    #expect(results.count == 5)
    clock.advance(by: .seconds(3))
    #expect(results.count == 8)
  }

  @Test("the log says that a pause was cut, and why a limit was lowered")
  func logged() throws {
    let cut = "a:1: paused 10 min 0 s by 429, the longest that is configured; the server requested 60 min 0 s"
    for (adaptive, wait, line) in [
      (nil, .seconds(3600), cut),
      (AdaptivePolicy(initialRequests: 4), nil, "a:1: limit 4 -> 2 learned by 429"),
    ] as [(AdaptivePolicy?, Duration?, String)] {
      var limits = try GateLimits(endPoint: EndPointLimits(requests: 9))
      (limits.pauses, limits.adaptive) = (PausePolicy(jitter: 0), adaptive)
      let book = LogBook()
      let gate = EndPointGate(limits: limits, timers: clock, logger: book.logger())
      let results = Results()
      clock.advance(by: .seconds(1))
      for _ in 0..<4 { _ = ask(gate, into: results) }
      clock.advance(by: .seconds(1))
      let permit = try #require(try results.last?.get())
      gate.note(.refused(wait: wait, status: 429), of: permit.ticket, startedAt: clock.now + .milliseconds(-500))
      #expect(book.lines.values.contains(line), "\(book.lines.values)")
    }
  }

  @Test("a start that never happened returns its place")
  func declined() throws {
    let gate = try gate(EndPointLimits(requests: 4, rates: [.rolling(1, per: .seconds(1))]))
    let results = Results()
    let box = Locked<PermitRequest?>(nil)
    // Inside a delivery of the gate the next request is granted and not told yet. It is withdrawn there.
    gate.requestPermit(for: there) { [here] _ in
      let request = gate.requestPermit(for: here, completion: results.add)
      box.withLock { $0 = request }
      request.cancel()
    }
    #expect(results.last?.code == .cancelled)
    _ = ask(gate, into: results)
    #expect(results.count == 2 && results.last?.code == nil)
  }

  @Test("a hundred thousand sleeping end-points arm one timer, and wake by it")
  func oneTimer() async throws {
    let timers = CountingTimers()
    let limits = try GateLimits(
      endPoint: EndPointLimits(requests: 4, rates: [.spaced(1, per: .seconds(1))]), total: 1_000_000)
    let gate = EndPointGate(limits: limits, timers: timers, logger: .silent)
    let results = Results()
    // In a release build. 5,000 in debug builds.
    let count = min(many / 4, 100_000)
    for number in 0..<count {
      let endPoint = try EndPoint(host: "h\(number)", port: 1)
      for _ in 0..<2 { _ = ask(gate, endPoint, into: results) }
    }
    #expect(results.count == count && gate.counts.waiting == count)
    #expect(timers.armed == 1 && timers.clock.pendingCount == 1)
    timers.clock.advance(by: .seconds(2))
    // Deliveries that exceed a caller's share are made by a thread of the gate.
    await results.wait(for: 2 * count)
    #expect(results.count == 2 * count && gate.counts.waiting == 0 && timers.clock.pendingCount == 0)
    // Only some wake at a time, so that no thread waits long for the lock.
    #expect(timers.armed <= 1 + count / 256 + 1)
  }

  @Test(
    "D106 a request whose deadline falls into a pause ends at once and names its end; others wait, and one goes first"
  )
  func paused() throws {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 3))
    limits.pauses = PausePolicy(jitter: 0)
    let gate = EndPointGate(limits: limits, timers: clock, logger: .silent)
    #expect(gate.hearsOutcomes)
    let (running, patient, hasty) = (Results(), Results(), Results())
    clock.advance(by: .seconds(1))
    for _ in 0..<3 { _ = ask(gate, into: running) }
    let waiting = (0..<3).map { _ in ask(gate, into: patient) }
    _ = ask(gate, deadline: .seconds(5), into: hasty)
    clock.advance(by: .seconds(1))
    let permits = try running.values.map { try $0.get() }
    gate.note(
      .refused(wait: .seconds(12), status: 429), of: permits[0].ticket, startedAt: clock.now + .milliseconds(-500))
    let error = try #require(hasty.last?.error)
    #expect(error.code == .pausedUntil && error.waitReason?.kind == .paused)
    #expect(error.waitReason?.until == clock.now + .seconds(12))
    #expect(error.description.contains("paused 12.0 s by 429"))
    #expect(waiting[0].waitReason?.description == "paused 12.0 s by 429")
    _ = ask(gate, deadline: .seconds(3), into: hasty)
    #expect(hasty.count == 2 && hasty.last?.code == .pausedUntil)
    for permit in permits { permit.release() }
    #expect(patient.count == 0 && gate.snapshot().description.contains("paused 12.0 s by 429"))
    clock.advance(by: .seconds(12))
    #expect(patient.count == 1)
    #expect(waiting[1].waitReason?.description == "recovering 1/1")
    let probe = try #require(try patient.last?.get())
    gate.note(.answered, of: probe.ticket, startedAt: clock.now)
    probe.release()
    #expect(patient.count == 3)
  }

  @Test("requests that wait for an unreachable end-point end as unreachable, and so do new ones while it sleeps")
  func givenUp() throws {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 1))
    limits.breaker = BreakerPolicy(failures: 1, initialSuspension: .seconds(1), probes: 1, jitter: 0)
    let gate = EndPointGate(limits: limits, timers: clock, logger: .silent)
    let results = Results()
    for _ in 0..<4 { _ = ask(gate, into: results) }
    for expected in 1...2 {
      #expect(results.count == expected)
      let permit = try #require(try results.last?.get())
      clock.advance(by: .milliseconds(1))
      gate.note(.unreachable(), of: permit.ticket, startedAt: clock.now)
      permit.release()
      if expected == 1 { clock.advance(by: .seconds(1)) }
    }
    #expect(results.values.compactMap(\.code) == [.unreachable, .unreachable])
    #expect(results.last?.error?.waitReason?.description == "unreachable, next try in 2.0 s")
    _ = ask(gate, into: results)
    #expect(results.values.compactMap(\.code).count == 3)
    clock.advance(by: .seconds(2))
    _ = ask(gate, into: results)
    #expect(results.last?.code == nil)
  }

  @Test("D09 weights: a weight that is too large is refused by name, settling frees the rest, an excess is owed")
  func weights() throws {
    let gate = try gate(EndPointLimits(requests: 4, budgets: [Budget("tokens", units: 10, per: .seconds(10))]))
    let results = Results()
    _ = ask(gate, weights: ["tokens": 11], into: results)
    #expect(results.last?.code == .tooHeavy)
    #expect(results.last?.error?.description.contains("11 of 10 tokens") == true)
    _ = ask(gate, weights: ["tokens": 8], into: results)
    let heavy = ask(gate, weights: ["tokens": 5], into: results)
    // Neither a light request nor one without weight overtakes it.
    _ = ask(gate, weights: ["tokens": 1], into: results)
    _ = ask(gate, into: results)
    #expect(results.count == 2)
    #expect(heavy.waitReason?.description == "5 of 10 tokens in 10.0 s, next in 10.2 s")
    let permit = try #require(try results.last?.get())
    permit.release()
    #expect(permit.settle(["tokens": 4]) && !permit.settle(["tokens": 1]))
    #expect(results.count == 5)
    clock.advance(by: .seconds(11))
    _ = ask(gate, weights: ["tokens": 1], into: results)
    let light = try #require(try results.last?.get())
    #expect(light.settle(["tokens": 10]))
    _ = ask(gate, weights: ["tokens": 1], into: results)
    #expect(results.count == 6)
  }

  @Test("a scope spans end-points, and does not affect others")
  func scopes() throws {
    let gate = try gate(EndPointLimits(requests: 4))
    try gate.updateLimits { $0.scopes[.key("x")] = try ScopeLimits(requests: 1) }
    let results = Results()
    _ = ask(gate, scopes: [.key("x")], into: results)
    let second = ask(gate, there, scopes: [.group("free"), .key("x")], into: results)
    _ = ask(gate, there, scopes: [.group("free")], into: results)
    _ = ask(gate, there, into: results)
    #expect(results.count == 3 && second.waitReason?.description == "key x: limit 1/1")
    #expect(second.waitReason?.scope == .key("x"))
    try results.values[0].get().release()
    #expect(results.count == 4 && second.waitReason == nil)
  }

  @Test("the pause of a refused scope does not affect others")
  func pausedScope() throws {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 2))
    limits.pauses = PausePolicy(jitter: 0)
    let book = LogBook()
    let gate = EndPointGate(limits: limits, timers: clock, logger: book.logger())
    let (refused, others) = (Results(), Results())
    _ = ask(gate, scopes: [.key("x")], into: refused)
    clock.advance(by: .seconds(1))
    let permit = try #require(try refused.last?.get())
    gate.note(.refused(wait: .seconds(5), status: 429), of: permit.ticket, startedAt: clock.now)
    #expect(book.lines.values.contains("key x at a:1: paused 5.0 s by 429"), "\(book.lines.values)")
    permit.release()
    let waiting = ask(gate, scopes: [.key("x")], into: refused)
    _ = ask(gate, scopes: [.key("y")], into: others)
    _ = ask(gate, into: others)
    #expect(others.count == 2 && refused.count == 1)
    #expect(waiting.waitReason?.kind == .limit)
    try others.values[0].get().release()
    #expect(waiting.waitReason?.description == "key x: paused 5.0 s by 429")
    clock.advance(by: .seconds(5))
    #expect(refused.count == 2)
  }

  @Test("a deadline that passes in the queue gives the reason of the wait")
  func deadline() throws {
    let gate = try gate(EndPointLimits(requests: 1))
    let results = Results()
    _ = ask(gate, into: results)
    _ = ask(gate, deadline: .seconds(1), into: results)
    clock.advance(by: .seconds(1))
    #expect(results.last?.code == .deadlineExceeded)
    #expect(results.last?.error?.waitReason?.description == "limit 1/1")
    #expect(results.last?.error?.description.contains("(limit 1/1)") == true)
  }

  @Test("a request has scopes, weights and a reason, and its weight is settled by its handle")
  func requests() throws {
    let bench = try Bench(requests: 4)
    try bench.dispatcher.updateLimits {
      $0.scopes[.key("x")] = try ScopeLimits(budgets: [Budget("tokens", units: 10, per: .seconds(10))])
    }
    let responses = Responses()
    var request = try bench.request()
    request.scopes = [.key("x")]
    request.weights = ["tokens": 8]
    let first = bench.send(request, into: responses)
    request.deadline = .seconds(1)
    let second = bench.send(request, into: responses)
    request.deadline = nil
    let third = bench.send(request, into: responses)
    #expect((first.state, second.state) == (.running, .waiting))
    #expect(second.waitReason?.description == "key x: 8 of 10 tokens in 10.0 s, next in 10.2 s")
    bench.clock.advance(by: .seconds(1))
    #expect(responses.last?.error?.waitReason?.kind == .budget)
    #expect(!third.settle(["tokens": 1]) && first.settle(["tokens": 2]))
    #expect(third.state == .running && bench.counts.running == 2)
    bench.dispatcher.dispose()
  }

  @Test("a weight can be settled during its own window, however long others are")
  func settledTooLate() throws {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 9))
    for (name, seconds) in [("short", 1), ("long", 60)] {
      limits.scopes[.key(name)] = try ScopeLimits(budgets: [Budget("tokens", units: 10, per: .seconds(seconds))])
    }
    var scheduler = Scheduler<Int>(limits: limits)
    var moment = Deadline(nanoseconds: 1_000_000_000)
    var tickets: [Ticket] = []
    for (number, names) in [["long"], ["short"], ["short", "long"]].enumerated() {
      let needs = StartNeeds(scopes: names.map { .key($0) }, weights: ["tokens": 2])
      guard case .accepted(let ticket) = scheduler.submit(number, to: here, .short, at: moment, needs: needs),
        case .start? = scheduler.next()
      else { throw Unexpected() }
      tickets.append(ticket)
    }
    moment = moment + .seconds(5)
    scheduler.advance(to: moment)
    let late = scheduler.settleWeight(tickets[1], ["tokens": 9])
    let partlyLate = scheduler.settleWeight(tickets[2], ["tokens": 9])
    #expect(!late && partlyLate)
    // Nothing is owed since both have left the window: a heavy request starts.
    let heavy = StartNeeds(scopes: [.key("short")], weights: ["tokens": 10])
    _ = scheduler.submit(3, to: here, .short, at: moment, needs: heavy)
    guard case .start(3, _)? = scheduler.next() else { throw Unexpected() }
  }

  @Test("weighed starts in short windows are forgotten beside one in a long window")
  func forgottenWeights() throws {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 9))
    for (name, seconds) in [("second", 1), ("month", 30 * 86_400)] {
      limits.scopes[.key(name)] = try ScopeLimits(budgets: [Budget("tokens", units: 10, per: .seconds(seconds))])
    }
    var scheduler = Scheduler<Int>(limits: limits)
    var moment = Deadline(nanoseconds: 1_000_000_000)
    for number in 0..<1000 {
      let needs = StartNeeds(scopes: [.key(number == 0 ? "month" : "second")], weights: ["tokens": 2])
      guard case .accepted(let ticket) = scheduler.submit(number, to: here, .short, at: moment, needs: needs),
        case .start? = scheduler.next()
      else { throw Unexpected() }
      #expect(scheduler.finish(ticket) == number)
      moment = moment + .seconds(2)
      scheduler.advance(to: moment)
    }
    #expect(scheduler.weighed.count == 2)
  }

  @Test("the counts of an end-point outlive it, and are forgotten later")
  func forgotten() throws {
    var scheduler = Scheduler<Int>(
      limits: try GateLimits(endPoint: EndPointLimits(requests: 2, rates: [.spaced(1, per: .seconds(1))])))
    var moment = Deadline(nanoseconds: 1_000_000_000)
    for number in 0..<1_100 {
      let endPoint = try EndPoint(host: "h\(number)", port: 1)
      guard case .accepted(let ticket) = scheduler.submit(number, to: endPoint, .short, at: moment, mayStart: true),
        case .start? = scheduler.next()
      else { throw Unexpected() }
      #expect(scheduler.finish(ticket) == number)
    }
    // The first was forgotten as an end-point, but its recent start was not.
    guard case .accepted = scheduler.submit(-1, to: try EndPoint(host: "h0", port: 1), .short, at: moment) else {
      throw Unexpected()
    }
    #expect(!scheduler.hasEffects && scheduler.scopes.all.count == 1_100 && scheduler.wakeAt != nil)
    moment = moment + .seconds(2)
    for _ in 0..<600 { scheduler.advance(to: moment) }
    scheduler.wake(at: moment)
    #expect(scheduler.hasEffects && scheduler.scopes.all.count == 1 && scheduler.wakeAt == nil)
  }
}

/// A clock that counts how often it was armed.
private final class CountingTimers: TimerService {
  let clock = ManualClock()
  private let count = Locked(0)

  var armed: Int { count.withLock { $0 } }
  var now: Deadline { clock.now }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    count.withLock { $0 += 1 }
    return clock.schedule(at: deadline, action)
  }

  func cancel(_ timer: ScheduledTimer) -> Bool { clock.cancel(timer) }
}
