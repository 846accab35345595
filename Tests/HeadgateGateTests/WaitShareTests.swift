import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

/// One limit after another that alone keeps requests waiting, in virtual time.
@Suite struct WaitShareTests {
  private struct Case: CustomTestStringConvertible {
    let kind: WaitReason.Kind
    var limits: GateLimits
    var lane = RequestLane.short
    var needs: StartNeeds?
    var multiplexes = false
    /// What the server makes of the first request.
    var first = VirtualRun.Answer(seconds: 0.1)

    var testDescription: String { kind.description }
  }

  private static func cases() throws -> [Case] {
    var scoped = try GateLimits(endPoint: EndPointLimits(requests: 10), total: 100)
    scoped.scopes[.key("x")] = try ScopeLimits(requests: 2)
    var pausing = try GateLimits(endPoint: EndPointLimits(requests: 1), total: 100)
    pausing.pauses = PausePolicy(jitter: 0)
    return [
      Case(kind: .limit, limits: try GateLimits(endPoint: EndPointLimits(requests: 4), total: 100)),
      Case(
        kind: .longLane, limits: try GateLimits(endPoint: EndPointLimits(requests: 10, long: 2), total: 100),
        lane: .long),
      Case(kind: .total, limits: try GateLimits(endPoint: EndPointLimits(requests: 10), total: 3)),
      Case(
        kind: .rate,
        limits: try GateLimits(
          endPoint: EndPointLimits(requests: 50, rates: [.spaced(10, per: .seconds(1))]), total: 100)),
      Case(
        kind: .budget,
        limits: try GateLimits(
          endPoint: EndPointLimits(requests: 50, budgets: [Budget("tokens", units: 100, per: .seconds(10))]), total: 100
        ),
        needs: StartNeeds(weights: ["tokens": 10])),
      Case(kind: .scope, limits: scoped, needs: StartNeeds(scopes: [.key("x")])),
      Case(
        kind: .socket,
        limits: try GateLimits(endPoint: EndPointLimits(requests: 50, connections: 2), total: 100),
        needs: StartNeeds(needsSocket: true), multiplexes: true),
      Case(kind: .paused, limits: pausing, first: VirtualRun.Answer(seconds: 0.1, status: 429, wait: .seconds(100))),
      Case(kind: .quota, limits: pausing, first: VirtualRun.Answer(seconds: 0.1, quota: (0, 100))),
    ]
  }

  @Test("a limit that binds alone has at least 95 % of the time waited, and the sums are the time in the queue")
  func alone() throws {
    for one in try Self.cases() {
      var run = try VirtualRun(one.limits, seed: 1)
      run.lane = one.lane
      run.serve(0..<1, needs: { _ in one.needs }) { _, _ in VirtualRun.Answer(seconds: 0.1) }
      if one.multiplexes { run.multiplex() }
      var isFirst = true
      run.serve(1..<40, needs: { _ in one.needs }) { _, _ in
        defer { isFirst = false }
        return isFirst ? one.first : VirtualRun.Answer(seconds: 0.1)
      }
      let share = run.waited[one.kind].inSeconds / run.waited.total.inSeconds
      #expect(run.served.count == 40 && run.wrongSums == 0)
      #expect(share >= 0.95, "\(one.testDescription): \(run.waited)")
    }
  }

  @Test("a pause that ends while the limit is reached leaves the rest of the wait to the limit")
  func pauseUnderLimit() throws {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 2), total: 100)
    limits.pauses = PausePolicy(jitter: 0)
    let endPoint = try EndPoint(host: "a", port: 1)
    var scheduler = Scheduler<Int>(limits: limits)
    func moment(_ seconds: UInt64) -> Deadline { Deadline(nanoseconds: seconds * 1_000_000_000) }
    for item in 0..<3 { _ = scheduler.submit(item, to: endPoint, .short, at: moment(10)) }
    guard case .start(0, let first)? = scheduler.next(), case .start(1, let second)? = scheduler.next() else {
      throw Unstarted()
    }
    var random = SeededRandom(seed: 1)
    _ = scheduler.note(
      .refused(wait: .seconds(5), status: 429), of: first, startedAt: moment(10), at: moment(12), using: &random)
    // Both run on until long after the pause.
    for ticket in [first, second] {
      scheduler.advance(to: moment(30))
      _ = scheduler.finish(ticket)
    }
    guard case .start(2, _)? = scheduler.next() else { throw Unstarted() }
    let waited = scheduler.waited
    #expect(waited.total == .seconds(20) && waited[.paused] == .seconds(5) && waited[.limit] >= .seconds(2))
    #expect(waited[.limit] + waited[.recovering] == .seconds(15))
  }

  @Test("the sums of an end-point and of the gate contain the waits that are over and those that are not")
  func sums() throws {
    let endPoint = try EndPoint(host: "a", port: 1)
    var scheduler = Scheduler<Int>(limits: try GateLimits(endPoint: EndPointLimits(requests: 1), total: 100))
    func moment(_ seconds: UInt64) -> Deadline { Deadline(nanoseconds: seconds * 1_000_000_000) }
    for item in 0..<3 { _ = scheduler.submit(item, to: endPoint, .short, at: moment(1)) }
    guard case .start(0, let first)? = scheduler.next() else { throw Unstarted() }
    scheduler.advance(to: moment(4))
    _ = scheduler.finish(first)
    guard case .start(1, _)? = scheduler.next() else { throw Unstarted() }
    // Three seconds of the second, and seven of the third.
    let snapshot = scheduler.snapshot(at: moment(8))
    #expect(snapshot.waited[.limit] == .seconds(10) && snapshot.waited.total == .seconds(10))
    #expect(snapshot.endPoints.map(\.waited) == [snapshot.waited])
  }

  @Test("an idle end-point that is stopped by hand keeps its sums")
  func stopped() throws {
    let endPoint = try EndPoint(host: "a", port: 1)
    var scheduler = Scheduler<Int>(limits: try GateLimits(endPoint: EndPointLimits(requests: 1), total: 100))
    func moment(_ seconds: UInt64) -> Deadline { Deadline(nanoseconds: seconds * 1_000_000_000) }
    for item in 0..<2 { _ = scheduler.submit(item, to: endPoint, .short, at: moment(1)) }
    for _ in 0..<2 {
      guard case .start(_, let ticket)? = scheduler.next() else { throw Unstarted() }
      scheduler.advance(to: moment(4))
      _ = scheduler.finish(ticket)
    }
    scheduler.setStopped(true, at: endPoint)
    #expect(scheduler.snapshot(at: moment(5)).endPoints.map(\.waited[.limit]) == [.seconds(3)])
  }

  @Test("a caller that has read the clock before the last event is told of the waits up to that event")
  func earlierTime() throws {
    let endPoint = try EndPoint(host: "a", port: 1)
    var scheduler = Scheduler<Int>(limits: try GateLimits(endPoint: EndPointLimits(requests: 1), total: 100))
    func moment(_ seconds: UInt64) -> Deadline { Deadline(nanoseconds: seconds * 1_000_000_000) }
    _ = scheduler.submit(0, to: endPoint, .short, at: moment(1))
    guard case .accepted(let ticket) = scheduler.submit(1, to: endPoint, .short, at: moment(2)) else {
      throw Unstarted()
    }
    scheduler.advance(to: moment(5))
    scheduler.setStopped(true, at: endPoint)
    scheduler.advance(to: moment(9))
    for time: UInt64 in [1, 4, 9] {
      let waits = scheduler.waits(of: ticket, at: moment(time))
      #expect(waits[.limit] == .seconds(3) && waits[.stopped] == .seconds(4), "at \(time) s")
    }
  }

  private struct Unstarted: Error {}
}
