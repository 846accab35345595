import HeadgateGate
import Testing

@Suite struct LimitsTests {
  @Test("D07 a limit of 0 or less is an error that names it, never no limit", arguments: [0, -1, Int.min])
  func tooLow(number: Int) throws {
    let errors = [
      #expect(throws: LimitError.self) { try EndPointLimits(requests: number) },
      #expect(throws: LimitError.self) { try EndPointLimits(requests: number, long: number) },
      #expect(throws: LimitError.self) { try EndPointLimits(requests: 4, long: number) },
      #expect(throws: LimitError.self) { try EndPointLimits(requests: number, keepsRoomForShort: false) },
      #expect(throws: LimitError.self) { try GateLimits(total: number) },
    ]
    for error in errors { #expect(error?.description.contains("not \(number)") == true) }
  }

  @Test("A weight is between 1 and 1,000, and other values are errors that name it")
  func weights() throws {
    for weight in [1, 1000] {
      #expect(try EndPointLimits(requests: 4, weight: weight).weight == weight)
      #expect(try EndPointLimits(requests: 4, keepsRoomForShort: false, weight: weight).weight == weight)
    }
    for weight in [Int.min, -1, 0, 1001, .max] {
      for error in [
        #expect(throws: LimitError.self) { try EndPointLimits(requests: 4, weight: weight) },
        #expect(throws: LimitError.self) { try EndPointLimits(requests: 4, long: 2, weight: weight) },
        #expect(throws: LimitError.self) { try EndPointLimits(requests: 4, keepsRoomForShort: false, weight: weight) },
      ] { #expect(error?.description.hasSuffix("not \(weight)") == true) }
    }
  }

  @Test("D07 the bound on waiting requests may be zero, but not negative")
  func waiting() throws {
    #expect(try GateLimits(waiting: 0).waiting == 0)
    #expect(throws: LimitError.self) { try GateLimits(waiting: -1) }
    #expect(throws: LimitError.self) { try GateLimits(waiting: Int.min) }
  }

  @Test("D08 Int.max works, and nothing is allocated for it")
  func unlimited() throws {
    let limit = try EndPointLimits(requests: .max)
    #expect(limit.long == .max / 2)
    let all = try GateLimits(
      endPoint: EndPointLimits(requests: .max, keepsRoomForShort: false), total: .max, waiting: .max, overflow: .wait)
    var scheduler = Scheduler<Int>(limits: all)
    let endPoint = try EndPoint(host: "h", port: 80)
    for number in 0..<100 {
      guard case .accepted = scheduler.submit(number, to: endPoint, number % 2 == 0 ? .short : .long, mayBeHeld: true)
      else {
        Issue.record("not accepted")
        return
      }
    }
    #expect(scheduler.running == 100)
    #expect(scheduler.waiting == 0)
    var started = 0
    while case .start(let number, _) = scheduler.next() {
      #expect(number == started)
      started += 1
    }
    #expect(started == 100)
  }

  @Test("The standard limit is six with three long, the classic one four with two")
  func presets() throws {
    #expect(EndPointLimits.standard == (try EndPointLimits(requests: 6, long: 3)))
    #expect(EndPointLimits.classic == (try EndPointLimits(requests: 4, long: 2)))
    #expect(GateLimits.standard.endPoint == .standard)
    #expect(GateLimits.standard.waiting == 1_000_000)
    #expect(GateLimits.standard.overflow == .refuse)
    #expect(GateLimits.standard.overrides.isEmpty)
  }

  @Test("By default half of an end-point's requests may be long", arguments: [(1, 1), (2, 1), (3, 1), (6, 3), (7, 3)])
  func longShare(requests: Int, long: Int) throws {
    let limits = try EndPointLimits(requests: requests)
    #expect(limits.requests == requests)
    #expect(limits.long == long)
  }

  @Test(
    "Long requests leave a permit to short ones, unless there is only one",
    arguments: [(2, 2), (4, 4), (4, 5), (1, 2)]
  )
  func longBelowAll(requests: Int, long: Int) {
    let error = #expect(throws: LimitError.self) { try EndPointLimits(requests: requests, long: long) }
    #expect(error?.description.contains(long > requests ? "at most" : "keepsRoomForShort") == true)
  }

  @Test("Long requests up to one less than the limit are accepted")
  func longJustBelow() throws {
    #expect(try EndPointLimits(requests: 4, long: 3).long == 3)
    #expect(try EndPointLimits(requests: 1, long: 1).long == 1)
  }

  @Test(
    "D90 sockets default to the number of requests; fewer are allowed, more are not, and long requests leave one free")
  func connections() throws {
    #expect(try EndPointLimits(requests: 6).connections == 6)
    let limits = try EndPointLimits(requests: 100, connections: 4)
    #expect((limits.requests, limits.long, limits.connections) == (100, 2, 4))
    #expect(try EndPointLimits(requests: 100, connections: 1).long == 1)
    #expect(try EndPointLimits(requests: 100, long: 3, connections: 4).long == 3)
    #expect(try EndPointLimits(requests: 100, connections: 4, keepsRoomForShort: false).long == 100)
    // Over HTTP/2, long requests share sockets too.
    #expect(try EndPointLimits(requests: 100, long: 50, connections: 2).long == 50)
    #expect(throws: LimitError.self) { try EndPointLimits(requests: 100, long: 100, connections: 4) }
    for connections in [0, -1, 101] {
      #expect(throws: LimitError.self) { try EndPointLimits(requests: 100, connections: connections) }
      #expect(throws: LimitError.self) {
        try EndPointLimits(requests: 100, connections: connections, keepsRoomForShort: false)
      }
    }
    let gate = EndPointGate(limits: try GateLimits(endPoint: limits))
    gate.updateLimits { $0.endPoint.long = 1 }
    #expect(gate.limits.endPoint == (try EndPointLimits(requests: 100, long: 1, connections: 4)))
  }

  @Test("A property takes the nearest number in range, and moves only what no longer fits")
  func settable() throws {
    var limits = try EndPointLimits(
      requests: 6, long: 4, weight: 5, rates: [.rolling(10, per: .seconds(1))], minimumInterval: .seconds(1))
    let before = limits
    limits.requests = 10
    #expect((limits.requests, limits.long, limits.connections) == (10, 4, 10))
    limits.connections = 3
    limits.requests = 12
    #expect((limits.requests, limits.long, limits.connections) == (12, 4, 3))
    limits.requests = 3
    #expect((limits.requests, limits.long, limits.connections) == (3, 2, 3))
    (limits.requests, limits.long, limits.connections, limits.weight) = (-1, -1, -1, -1)
    #expect((limits.requests, limits.long, limits.connections, limits.weight) == (1, 1, 1, 1))
    (limits.requests, limits.long, limits.connections, limits.weight) = (6, 100, 100, 10_000)
    #expect((limits.requests, limits.long, limits.connections, limits.weight) == (6, 5, 6, 1000))
    limits.keepsRoomForShort = false
    limits.long = 100
    #expect(limits.long == 6)
    limits.keepsRoomForShort = true
    (limits.long, limits.weight) = (min(limits.long, 4), 5)
    #expect(limits == before)
    limits.minimumInterval = .seconds(-1)
    #expect(limits.minimumInterval == .zero && limits.rates == before.rates)
    limits.minimumInterval = .seconds(367 * 86_400)
    #expect(limits.minimumInterval == .seconds(366 * 86_400))
    limits.budgets = try [Budget("a", units: 1, per: .seconds(1)), Budget("a", units: 2, per: .seconds(1))]
    #expect(limits.budgets.map(\.units) == [2] && limits.rates == before.rates)
    var scope = try ScopeLimits(requests: 4)
    scope.requests = 0
    #expect(scope.requests == 1)
    scope.rates = before.rates
    #expect(scope == (try ScopeLimits(requests: 1, rates: before.rates)))
    var gate = try GateLimits(scopes: [.key("a"): scope], pauses: nil, agingInterval: .zero)
    (gate.total, gate.waiting, gate.agingInterval) = (0, -1, .seconds(-1))
    #expect((gate.total, gate.waiting, gate.agingInterval) == (1, 0, .zero))
    #expect(gate.scopes == [.key("a"): scope] && gate.pauses == nil)
    for interval in [Duration.seconds(-1), .seconds(366 * 86_400)] {
      #expect(throws: LimitError.self) { try GateLimits(agingInterval: interval) }
    }
  }

  @Test("All requests may be long if that is requested by name", arguments: [1, 2, 6])
  func allLong(requests: Int) throws {
    let limits = try EndPointLimits(requests: requests, keepsRoomForShort: false)
    #expect(limits.requests == requests)
    #expect(limits.long == requests)
  }

  @Test("The total is derived from the process's limit of open files")
  func defaultTotal() throws {
    #expect((8...4096).contains(GateLimits.defaultTotal))
    #expect(try GateLimits().total == GateLimits.defaultTotal)
    #expect(GateLimits.standard.total == GateLimits.defaultTotal)
  }

  @Test("Given values are kept")
  func kept() throws {
    let endPoint = try EndPoint(host: "h", port: 80)
    let limits = try GateLimits(
      endPoint: .classic,
      overrides: [endPoint: .standard],
      total: 5,
      waiting: 7,
      overflow: .wait
    )
    #expect(limits.endPoint == .classic)
    #expect(limits.overrides == [endPoint: .standard])
    #expect(limits.total == 5)
    #expect(limits.waiting == 7)
    #expect(limits.overflow == .wait)
  }
}
