import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Dispatchers with gates of their own, under one coordinator.
@Suite struct CoordinatedDispatcherTests {
  private let clock = ManualClock()
  private let transports = [ScriptedTransport(), ScriptedTransport()]
  private let coordinator: LocalCoordinator
  private let dispatchers: [URLDispatcher]
  private let responses = Responses()
  private let request: DispatchRequest

  init() throws {
    let coordinator = LocalCoordinator(timers: clock, logger: .silent)
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 2))
    let clock = clock
    self.coordinator = coordinator
    dispatchers = transports.map {
      URLDispatcher(transport: $0, limits: limits, timers: clock, logger: .silent, coordinator: coordinator)
    }
    request = try DispatchRequest("http://a/")
  }

  private var running: Int { transports.map { $0.running(at: request.endPoint) }.reduce(0, +) }

  @discardableResult
  private func send(_ request: DispatchRequest, over index: Int) -> URLDispatchOperation {
    dispatchers[index].dispatch(request) { [responses] in responses.add($0) }
  }

  @Test("two dispatchers with separate gates never exceed one limit, and take turns by waiting time")
  func oneLimit() {
    for _ in 0..<3 { for index in 0..<2 { send(request, over: index) } }
    var order: [Int] = []
    while responses.count < 6 {
      #expect(running <= 2)
      guard let index = transports.firstIndex(where: { $0.running(at: request.endPoint) > 0 }) else { break }
      order.append(index)
      transports[index].takeStarted()?.respond()
    }
    #expect(responses.values.allSatisfy { $0.code == nil })
    #expect(order.count == 6)
    #expect(transports.allSatisfy { $0.violations.isEmpty })
  }

  @Test("a dispatcher that shares a gate asks the gate's coordinator too")
  func sharedGate() throws {
    let transport = ScriptedTransport()
    let sharing = URLDispatcher(transport: transport, sharing: dispatchers[0].gate)
    for _ in 0..<2 { send(request, over: 1) }
    sharing.dispatch(request) { [responses] in responses.add($0) }
    #expect(transport.takeStarted() == nil)
    try #require(transports[1].takeStarted()).respond()
    try #require(transport.takeStarted()).respond()
    try #require(transports[1].takeStarted()).respond()
    #expect(responses.values.map(\.code) == [nil, nil, nil])
  }

  @Test("the coordinator keeps limits only of end-points whose limits are not the common ones")
  func commonLimits() throws {
    func overrides(afterRequestTo url: String) throws -> [EndPoint: EndPointLimits] {
      send(try DispatchRequest(url), over: 0)
      try #require(transports[0].takeStarted()).respond()
      return coordinator.gate.limits.overrides
    }
    for number in 0..<20 { #expect(try overrides(afterRequestTo: "http://host\(number)/").isEmpty) }
    #expect(coordinator.gate.limits.endPoint.requests == 2)
    dispatchers[0].setLimits(try EndPointLimits(requests: 1), for: request.endPoint)
    #expect(try overrides(afterRequestTo: "http://a/").mapValues(\.requests) == [request.endPoint: 1])
    dispatchers[0].setLimits(nil, for: request.endPoint)
    #expect(try overrides(afterRequestTo: "http://a/").isEmpty)
    #expect(responses.count == 22)
  }

  @Test("waiting for a shared permit is waiting: no timeout, but the deadline and cancels apply")
  func waiting() throws {
    for _ in 0..<2 { send(request, over: 0) }
    var timed = request
    timed.timeout = .seconds(1)
    let first = send(timed, over: 1)
    clock.advance(by: .seconds(10))
    #expect(responses.count == 0)
    #expect(first.waitReason?.kind == .shared)
    let snapshot = dispatchers[1].snapshot()
    #expect(snapshot.endPoints.map(\.waitingShared) == [1])
    #expect(snapshot.description.contains("1 waiting for shared permits"))
    timed.deadline = .seconds(5)
    let other = send(timed, over: 1)
    clock.advance(by: .seconds(5))
    #expect(responses.values.map(\.code) == [.deadlineExceeded])
    #expect(responses.last?.error?.waitReason?.kind == .shared)
    other.cancel()
    #expect(transports[1].takeStarted() == nil)
    transports[0].takeStarted()?.respond()
    // The timed request runs now, and its timeout counts from here.
    let exchange = try #require(transports[1].takeStarted())
    clock.advance(by: .milliseconds(900))
    exchange.respond()
    #expect(try responses.last?.get().times.queued == .seconds(15))
    transports[0].takeStarted()?.respond()
    #expect(responses.values.map(\.code) == [.deadlineExceeded, nil, nil, nil])
    #expect(dispatchers[1].snapshot().endPoints.isEmpty)
  }

  @Test("a request that is cancelled while it waits for a shared permit leaves no trace")
  func cancelled() throws {
    for _ in 0..<2 { send(request, over: 0) }
    let waiting = send(request, over: 1)
    waiting.cancel()
    #expect(responses.values.map(\.code) == [.cancelled])
    for _ in 0..<2 { transports[0].takeStarted()?.respond() }
    #expect(transports[1].takeStarted() == nil)
    send(request, over: 1)
    #expect(transports[1].takeStarted() != nil)
  }

  @Test("a retry gives its permit back while it backs off, and a redirect waits for the new end-point")
  func repeated() throws {
    var retrying = request
    retrying.retry = RetryPolicy(attempts: 2)
    send(retrying, over: 0)
    transports[0].takeStarted()?.respond(503)
    // Both permits are free during the backoff.
    var unlimited = request
    unlimited.timeout = nil
    for _ in 0..<2 { send(unlimited, over: 1) }
    #expect(transports[1].running(at: request.endPoint) == 2)
    clock.advance(by: .seconds(600))
    #expect(transports[0].takeStarted() == nil)
    transports[1].takeStarted()?.respond()
    try #require(transports[0].takeStarted()).respond()
    transports[1].takeStarted()?.respond(302, [.location: "http://b/"])
    try #require(transports[1].takeStarted()).respond()
    #expect(responses.values.map(\.code) == [nil, nil, nil])
    #expect(running == 0)
  }

  @Test("a weight that is settled is settled at the coordinator too")
  func settled() throws {
    let limits = try EndPointLimits(requests: 2, budgets: [Budget("tokens", units: 10, per: .seconds(100))])
    for dispatcher in dispatchers { dispatcher.setLimits(limits, for: request.endPoint) }
    var heavy = request
    heavy.weights = ["tokens": 8]
    send(heavy, over: 0)
    send(heavy, over: 1)
    transports[0].takeStarted()?.respond()
    // Ten units for both dispatchers together.
    #expect(transports[1].takeStarted() == nil)
    #expect(try responses.last?.get().settle(["tokens": 2]) == true)
    #expect(transports[1].takeStarted() != nil)
  }

  @Test("the coordinator's shutdown ends requests that wait for a permit")
  func shutDown() {
    for _ in 0..<2 { send(request, over: 0) }
    send(request, over: 1)
    coordinator.shutDown()
    #expect(responses.values.map(\.code) == [.shutDown])
    #expect(running == 2)
  }
}
