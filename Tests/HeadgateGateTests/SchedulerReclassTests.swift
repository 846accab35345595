import HeadgateGate
import Testing

/// The event by which a running request changes its lane, and queries of the scheduler.
@Suite struct SchedulerReclassTests {
  private let here: EndPoint
  private let there: EndPoint

  init() throws {
    here = try EndPoint(host: "a", port: 1)
    there = try EndPoint(host: "b", port: 1)
  }

  private func scheduler(_ requests: Int, long: Int, total: Int = 100, waiting: Int = 100) throws -> Scheduler<Int> {
    Scheduler(
      limits: try GateLimits(
        endPoint: EndPointLimits(requests: requests, long: long), total: total, waiting: waiting))
  }

  /// Submits a request that runs at once.
  private func run(
    _ scheduler: inout Scheduler<Int>, _ item: Int, _ endPoint: EndPoint, _ lane: RequestLane = .short
  ) throws -> Ticket {
    guard case .started(let ticket) = scheduler.submit(item, to: endPoint, lane, mayStart: true) else {
      throw Unexpected()
    }
    return ticket
  }

  @Test("a running short request takes a place of the long lane, and returns it at its end")
  func moves() throws {
    var scheduler = try scheduler(4, long: 2)
    let first = try run(&scheduler, 1, here)
    let second = try run(&scheduler, 2, here)
    let third = try run(&scheduler, 3, here)
    #expect(scheduler.reclass(first) == .moved)
    #expect(scheduler.reclass(first) == .stays)
    #expect(scheduler.runningLong(at: here) == 1)
    #expect(scheduler.reclass(second) == .moved)
    #expect(scheduler.reclass(third) == .refused)
    #expect(scheduler.runningLong(at: here) == 2)
    #expect(scheduler.finish(first) == 1)
    #expect(scheduler.reclass(first) == .gone)
    #expect(scheduler.reclass(third) == .moved)
    #expect(scheduler.runningLong(at: here) == 2 && scheduler.runningLong(at: there) == 0)
    #expect(!scheduler.hasEffects)
  }

  @Test("the long half of the total applies to it too")
  func total() throws {
    var scheduler = try scheduler(4, long: 2, total: 4)
    for item in 0..<2 { _ = try run(&scheduler, item, here, .long) }
    let ticket = try run(&scheduler, 2, there)
    #expect(scheduler.reclass(ticket) == .refused)
  }

  @Test("a request that waits, has been told to end, or has not been told of its start does not move")
  func notRunning() throws {
    var scheduler = try scheduler(1, long: 1)
    let running = try run(&scheduler, 1, here)
    guard case .accepted(let waiting) = scheduler.submit(2, to: here, .short) else { throw Unexpected() }
    #expect(scheduler.reclass(waiting) == .gone)
    #expect(scheduler.finish(running) == 1)
    #expect(scheduler.reclass(waiting) == .gone)
    guard case .start(2, let ticket) = scheduler.next() else { throw Unexpected() }
    guard case .running = scheduler.withdraw(ticket) else { throw Unexpected() }
    #expect(scheduler.reclass(ticket) == .gone)
    #expect(scheduler.finish(ticket) == 2)
  }

  @Test("when the lane's last place is taken, a request that waits for a place of another kind blocks none")
  func turns() throws {
    // The total is full. A long request waits for it at `here`, and a short one at `there`.
    var scheduler = try scheduler(3, long: 2, total: 3)
    let first = try run(&scheduler, 1, here)
    _ = try run(&scheduler, 2, there)
    let third = try run(&scheduler, 3, there)
    guard case .accepted = scheduler.submit(4, to: here, .long) else { throw Unexpected() }
    guard case .accepted = scheduler.submit(5, to: there, .short) else { throw Unexpected() }
    // The first takes the total's only long place, which the fourth waits for. The fourth is refused only if the lane
    // of its own end-point is full, which it is not.
    #expect(scheduler.reclass(first) == .moved)
    #expect(scheduler.finish(third) == 3)
    guard case .start(5, _) = scheduler.next() else { throw Unexpected() }
    #expect(!scheduler.hasEffects)
  }

  @Test("the outlook predicts the result of a submission")
  func outlook() throws {
    var scheduler = try scheduler(2, long: 1, total: 3, waiting: 1)
    #expect(scheduler.outlook(for: here, .long) == .runs)
    _ = try run(&scheduler, 1, here, .long)
    #expect(scheduler.outlook(for: here, .long) == .waits(before: 0))
    #expect(scheduler.outlook(for: here, .long, patience: .needsLongPlace) == .refused)
    // The long half of a total of three is one.
    #expect(scheduler.outlook(for: there, .long) == .waits(before: 0))
    #expect(scheduler.outlook(for: there, .long, patience: .needsLongPlace) == .refused)
    #expect(scheduler.outlook(for: here, .short) == .runs)
    _ = try run(&scheduler, 2, here)
    #expect(scheduler.outlook(for: here, .short) == .waits(before: 0))
    guard case .accepted = scheduler.submit(3, to: here, .short) else { throw Unexpected() }
    #expect(scheduler.outlook(for: here, .short) == .refused)
    #expect(scheduler.outlook(for: there, .short) == .runs)
    scheduler.close(.draining)
    #expect(scheduler.outlook(for: there, .short) == .refused)
  }
}

struct Unexpected: Error {}
