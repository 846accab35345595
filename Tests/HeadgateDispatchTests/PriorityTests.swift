import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// Section E of the cases: the order of requests, and that none starves.
@Suite struct PriorityTests {
  private func endPoint() throws -> EndPoint { try EndPoint(host: "a", port: 80) }

  /// Submits items behind a running one, then finishes one after another. Returns them in the order of their starts.
  private func order(
    _ arrivals: [(item: Int, priority: RequestPriority, second: Int)], aging: Duration = .seconds(10)
  ) throws -> [Int] {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 1))
    limits.agingInterval = aging
    var scheduler = Scheduler<Int>(limits: limits)
    let start = Deadline(nanoseconds: 1)
    _ = scheduler.submit(-1, to: try endPoint(), .short, at: start)
    for (item, priority, second) in arrivals {
      _ = scheduler.submit(item, to: try endPoint(), .short, priority: priority, at: start + .seconds(second))
    }
    var order: [Int] = []
    while case .start(let item, let ticket) = scheduler.next() {
      order.append(item)
      _ = scheduler.finish(ticket)
    }
    return Array(order.dropFirst())
  }

  @Test("D48 the most urgent request goes next, and among equals the first one")
  func urgentFirst() throws {
    let order = try order([
      (1, .normal, 0), (2, .background, 0), (3, .urgent, 1), (4, .low, 1), (5, .high, 1), (6, .normal, 2),
      (7, .urgent, 2),
    ])
    #expect(order == [3, 7, 5, 1, 6, 4, 2])
  }

  @Test("D46 under a steady load of urgent requests a background one waits for at most forty seconds of them")
  func aging() throws {
    let urgent = (0..<100).map { (item: $0, priority: RequestPriority.urgent, second: $0) }
    let order = try order([(item: 1000, priority: .background, second: 0)] + urgent)
    // Those of the seconds 0 to 39 precede it. The one of second 40 has the same rank and came later.
    let place = try #require(order.firstIndex(of: 1000))
    #expect((40...41).contains(place))
  }

  @Test("of two that have become equally urgent, the one that waited longer goes first")
  func equalRanks() throws {
    #expect(try order([(1, .background, 1), (2, .low, 11), (3, .normal, 21), (4, .urgent, 41)]) == [1, 2, 3, 4])
  }

  @Test("of two that have become equally urgent the older goes first, also after its priority was changed")
  func equalRanksReprioritised() throws {
    var scheduler = Scheduler<Int>(limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
    let start = Deadline(nanoseconds: 1)
    var tickets: [Ticket] = []
    let arrivals: [(RequestPriority, Int)] = [(.normal, 0), (.background, 11), (.normal, 21), (.low, 30)]
    for (item, (priority, second)) in arrivals.enumerated() {
      let submission = scheduler.submit(
        item, to: try endPoint(), .short, priority: priority, at: start + .seconds(second))
      if case .accepted(let ticket) = submission { tickets.append(ticket) }
    }
    // As urgent as the one of second 21 from now on, and no longer in order: a later one stands behind it in its list.
    let isChanged = scheduler.setPriority(.low, of: tickets[1])
    #expect(isChanged)
    var order: [Int] = []
    while case .start(let item, let ticket) = scheduler.next() {
      order.append(item)
      _ = scheduler.finish(ticket)
    }
    #expect(order == [0, 1, 2, 3])
  }

  @Test("an aging of zero makes it first come, first served")
  func noAgeing() throws {
    let order = try order([(1, .background, 0), (2, .urgent, 1), (3, .normal, 2)], aging: .zero)
    #expect(order == [1, 2, 3])
  }

  @Test("an aging out of range is clamped")
  func ageingRange() throws {
    var limits = try GateLimits()
    limits.agingInterval = .seconds(-1)
    #expect(limits.agingInterval == .zero)
    limits.agingInterval = .seconds(Int64.max)
    #expect(limits.agingInterval == .seconds(365 * 86_400))
    #expect(try order([(1, .background, 0), (2, .urgent, 9)], aging: .seconds(Int64.max)) == [2, 1])
  }

  @Test("when two threads read the clock in a different order than they arrive, neither overtakes")
  func clockRace() throws {
    var scheduler = Scheduler<Int>(limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
    for (item, moment) in [(0, 50), (1, 30), (2, 40), (3, 20)] {
      _ = scheduler.submit(item, to: try endPoint(), .short, at: Deadline(nanoseconds: UInt64(moment)))
    }
    var order: [Int] = []
    while case .start(let item, let ticket) = scheduler.next() {
      order.append(item)
      _ = scheduler.finish(ticket)
    }
    #expect(order == [0, 1, 2, 3])
  }

  @Test("a request that becomes urgent while it waits takes the place that it would have had; a running one continues")
  func reprioritised() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    let running = bench.send(try bench.request("/running"), into: responses)
    bench.send(try bench.request("/1"), into: responses)
    let second = bench.send(try bench.request("/2"), into: responses)
    #expect(second.priority == .normal)
    second.priority = .urgent
    running.priority = .background
    #expect((second.priority, running.priority) == (.urgent, .background))
    var order: [String] = []
    for _ in 0..<3 {
      let exchange = try await bench.transport.next()
      order.append(exchange.request.url)
      exchange.respond()
    }
    #expect(order == ["http://a/running", "http://a/2", "http://a/1"])
    second.priority = .low
    #expect(bench.isClean())
  }

  @Test("a request made urgent by its own field overtakes, and a redirect keeps it")
  func requestField() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    bench.send(try bench.request("/running"), into: responses)
    bench.send(try bench.request("/normal"), into: responses)
    var urgent = try bench.request("/urgent")
    urgent.priority = .urgent
    bench.send(urgent, into: responses)
    (try await bench.transport.next()).respond()
    let second = try await bench.transport.next()
    #expect(second.request.url == "http://a/urgent")
    second.respond(302, [.location: "http://a/moved"])
    let moved = try await bench.transport.next()
    #expect(moved.request.url == "http://a/moved")
    #expect(moved.request.priority == .urgent)
    moved.respond()
    (try await bench.transport.next()).respond()
    await responses.wait(for: 3)
    #expect(bench.isClean())
  }

  @Test("a bare permit has a priority too")
  func permits() async throws {
    let gate = EndPointGate(limits: try GateLimits(endPoint: EndPointLimits(requests: 1)), timers: ManualClock())
    let order = Outcomes<RequestPriority>()
    let first = try await gate.permit(for: try endPoint())
    for priority in [RequestPriority.low, .normal, .urgent] {
      gate.requestPermit(for: try endPoint(), priority: priority) { result in
        order.add(priority)
        (try? result.get())?.release()
      }
    }
    first.release()
    #expect(order.values == [.urgent, .normal, .low])
  }

  @Test("priorities have names, and no other text is accepted", arguments: RequestPriority.allCases)
  func names(priority: RequestPriority) {
    #expect(RequestPriority(priority.description) == priority)
    #expect(RequestPriority(priority.description.uppercased()) == nil)
  }
}
