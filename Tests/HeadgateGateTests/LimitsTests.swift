import HeadgateGate
import Testing

@Suite struct LimitsTests {
  @Test("D07 a limit of 0 or less is an error that names it, never no limit", arguments: [0, -1, Int.min])
  func tooLow(number: Int) throws {
    let errors = [
      #expect(throws: LimitError.self) { try EndPointLimits(requests: number) },
      #expect(throws: LimitError.self) { try EndPointLimits(requests: number, long: number) },
      #expect(throws: LimitError.self) { try EndPointLimits(requests: 4, long: number) },
      #expect(throws: LimitError.self) { try EndPointLimits.allLong(requests: number) },
      #expect(throws: LimitError.self) { try GateLimits(total: number) },
    ]
    for error in errors { #expect(error?.description.contains("not \(number)") == true) }
  }

  @Test("A weight is between 1 and 1,000, and other values are errors that name it")
  func weights() throws {
    for weight in [1, 1000] {
      #expect(try EndPointLimits(requests: 4, weight: weight).weight == weight)
      #expect(try EndPointLimits.allLong(requests: 4, weight: weight).weight == weight)
    }
    for weight in [Int.min, -1, 0, 1001, .max] {
      for error in [
        #expect(throws: LimitError.self) { try EndPointLimits(requests: 4, weight: weight) },
        #expect(throws: LimitError.self) { try EndPointLimits(requests: 4, long: 2, weight: weight) },
        #expect(throws: LimitError.self) { try EndPointLimits.allLong(requests: 4, weight: weight) },
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
    let all = try GateLimits(endPoint: .allLong(requests: .max), total: .max, waiting: .max, overflow: .wait)
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
    #expect(error?.description.contains("allLong") == true)
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
    #expect(try EndPointLimits.allLong(requests: 100, connections: 4).long == 4)
    #expect(throws: LimitError.self) { try EndPointLimits(requests: 100, long: 4, connections: 4) }
    for connections in [0, -1, 101] {
      #expect(throws: LimitError.self) { try EndPointLimits(requests: 100, connections: connections) }
      #expect(throws: LimitError.self) { try EndPointLimits.allLong(requests: 100, connections: connections) }
    }
    let gate = EndPointGate(limits: try GateLimits(endPoint: limits))
    try gate.setMaxLongRequests(1)
    #expect(gate.limits.endPoint == (try EndPointLimits(requests: 100, long: 1, connections: 4)))
  }

  @Test("All requests may be long if that is requested by name", arguments: [1, 2, 6])
  func allLong(requests: Int) throws {
    let limits = try EndPointLimits.allLong(requests: requests)
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
