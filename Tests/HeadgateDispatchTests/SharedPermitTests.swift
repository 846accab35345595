import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// What passes a gate whose coordinator answers when the test says so: requests and bare permits.
@Suite struct SharedPermitTests {
  private let clock = ManualClock()
  private let transport = ScriptedTransport()
  private let coordinator = HookedCoordinator()
  private let dispatcher: URLDispatcher
  private let responses = Responses()
  private let permits = Outcomes<Result<Permit, DispatchError>>()
  private let request: DispatchRequest

  init() throws {
    dispatcher = URLDispatcher(
      transport: transport, limits: try GateLimits(endPoint: EndPointLimits(requests: 3)), timers: clock,
      logger: .silent, coordinator: coordinator)
    request = try DispatchRequest("http://a/")
  }

  @discardableResult
  private func send(_ request: DispatchRequest) -> URLDispatchOperation {
    dispatcher.dispatch(request) { [responses] in responses.add($0) }
  }

  @discardableResult
  private func requestPermit(scopes: [RequestScope] = []) -> PermitRequest {
    dispatcher.gate.requestPermit(for: request.endPoint, scopes: scopes) { [permits] in permits.add($0) }
  }

  @Test("requests and bare permits of two gates share one limit")
  func oneLimit() throws {
    let local = LocalCoordinator(timers: clock, logger: .silent)
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 3))
    let gates = [0, 1].map { _ in EndPointGate(limits: limits, timers: clock, logger: .silent, coordinator: local) }
    let sending = URLDispatcher(transport: transport, sharing: gates[0])
    let held = LockedBox<[Permit]>([])
    for gate in gates + gates + gates {
      gate.requestPermit(for: request.endPoint) { result in
        if case .success(let permit) = result { held.withLock { $0.append(permit) } }
      }
    }
    sending.dispatch(request) { [responses] in responses.add($0) }
    for count in [3, 3, 3, 3] {
      #expect(held.withLock { $0.count } == count)
      #expect(transport.takeStarted() == nil)
      held.withLock { $0.removeFirst() }.release()
    }
    // Its own gate let the request wait for the other program's permits.
    #expect(held.withLock { $0.count } == 2)
    try #require(transport.takeStarted()).respond()
    for permit in held.withLock({ $0 }) { permit.release() }
    #expect(responses.count == 1)
    #expect(local.gate.counts.running == 0)
  }

  @Test("a bare permit waits for the coordinator, and returns its permit once")
  func barePermit() throws {
    let asking = requestPermit()
    #expect(asking.waitReason?.kind == .shared)
    #expect(dispatcher.snapshot().endPoints.map(\.waitingShared) == [1])
    #expect(permits.count == 0)
    coordinator.grant()
    let permit = try #require(permits.values.first).get()
    #expect(dispatcher.snapshot().endPoints.map(\.waitingShared) == [0])
    permit.release()
    permit.release()
    #expect(coordinator.events.values == ["released"])
    #expect(dispatcher.gate.counts.running == 0)
  }

  @Test(
    "a limit, a pause and the coordinator that hold a request back one after another each have their part of its wait")
  func causes() throws {
    try dispatcher.gate.updateLimits { limits in
      limits.endPoint = try EndPointLimits(requests: 1)
      limits.pauses = PausePolicy(jitter: 0)
    }
    send(request)
    coordinator.grant()
    let first = try #require(transport.takeStarted())
    send(request)
    clock.advance(by: .seconds(10))
    first.respond(429, [.retryAfter: "20"])
    clock.advance(by: .seconds(20))
    #expect(transport.takeStarted() == nil)
    clock.advance(by: .seconds(5))
    coordinator.grant()
    try #require(transport.takeStarted()).respond()
    let times = try #require(responses.last).get().times
    #expect(times.queued == .seconds(35) && times.waited.total == .seconds(35))
    #expect(
      (times.waited[.limit], times.waited[.paused], times.waited[.shared]) == (.seconds(10), .seconds(20), .seconds(5)))
    #expect(dispatcher.gate.snapshot().waited == times.waited)
  }

  @Test("a request that the coordinator refuses, or that is cancelled before it answers, knows that it waited for it")
  func waitForNothing() throws {
    send(request)
    clock.advance(by: .seconds(3))
    coordinator.refuse(.coordinatorUnavailable)
    #expect(responses.last?.error?.waitTimes[.shared] == .seconds(3))
    let operation = send(request)
    clock.advance(by: .seconds(4))
    operation.cancel()
    #expect(responses.last?.error?.waitTimes[.shared] == .seconds(4) && responses.count == 2)
    #expect(responses.last?.error?.waited == .seconds(4))
    #expect(dispatcher.gate.snapshot().waited[.shared] == .seconds(7))
  }

  @Test("a bare permit that the coordinator refuses ends with that error")
  func refusedPermit() {
    requestPermit()
    coordinator.refuse(.coordinatorUnavailable)
    #expect(permits.values.map(\.code) == [.coordinatorUnavailable])
    #expect(dispatcher.gate.counts.running == 0)
  }

  @Test("cancelled while the coordinator is asked, which grants at once: the permit is returned, and nothing starts")
  func cancelledBeforeAnswer() {
    for isBare in [true, false] {
      coordinator.whenAsked { [dispatcher, coordinator, request] in
        dispatcher.gate.cancelAll(to: request.endPoint)
        coordinator.grant()
      }
      if isBare { requestPermit() } else { send(request) }
      // The cancel of what has been answered has no effect.
      #expect(coordinator.events.takeAll() == ["released", "cancelled"])
    }
    #expect(permits.values.map(\.code) == [.cancelled])
    #expect(responses.values.map(\.code) == [.cancelled])
    #expect(transport.takeStarted() == nil)
    #expect(dispatcher.gate.counts.running == 0)
  }

  @Test("cancelled while it waits for the coordinator: the wait ends, and a permit that comes late is returned")
  func cancelledInWait() {
    requestPermit().cancel()
    #expect(coordinator.events.takeAll() == ["cancelled"])
    coordinator.grant()
    #expect(coordinator.events.takeAll() == ["released"])
    send(request).cancel()
    #expect(coordinator.events.takeAll() == ["cancelled"])
    coordinator.grant()
    #expect(coordinator.events.takeAll() == ["released"])
    #expect(transport.takeStarted() == nil)
    #expect(dispatcher.gate.counts.running == 0)
  }

  @Test("a request that the coordinator refuses was not sent: no attempt, and no rate counts it")
  func refused() throws {
    dispatcher.setLimits(
      try EndPointLimits(requests: 1, rates: [Rate("1/min")]), for: request.endPoint)
    for code in [DispatchError.Code.tooHeavy, .transportFailed, .shutDown] {
      send(request)
      coordinator.refuse(code)
      let error = try #require(responses.last?.error)
      #expect(error.code == code)
      #expect(error.phase == .waiting)
      #expect(error.attempts == 0)
      #expect(error.endPoint == request.endPoint)
    }
    send(request)
    coordinator.grant()
    try #require(transport.takeStarted()).respond()
    #expect(responses.count == 4)
  }

  @Test("a pause that begins while a request waits for the coordinator holds that request back too")
  func pausedMeanwhile() throws {
    send(request)
    coordinator.grant()
    let first = try #require(transport.takeStarted())
    send(request)
    clock.advance(by: .seconds(2))
    first.respond(429, [.retryAfter: "10"])
    // It waits at its own gate, where its deadline counts.
    #expect(coordinator.events.takeAll() == ["cancelled", "released"])
    coordinator.grant()
    // Granted before the coordinator heard of that: the permit goes back, and other programs may use that place.
    #expect(coordinator.events.takeAll() == ["released"])
    #expect(transport.takeStarted() == nil)
    #expect(dispatcher.gate.counts.waiting == 1)
    clock.advance(by: .seconds(15))
    coordinator.grant()
    try #require(transport.takeStarted()).respond()
    #expect(responses.count == 2)
    let times = try #require(responses.last).get().times
    #expect(times.waited.total == .seconds(17) && times.waited[.turn] == .zero)
    #expect(times.waited[.paused] >= .seconds(10) && times.waited[.shared] >= .seconds(2))
    #expect(dispatcher.gate.snapshot().waited == times.waited)
    #expect(dispatcher.gate.counts.running == 0)
  }

  @Test("an end-point that is stopped by hand while a request waits for the coordinator stays stopped")
  func stoppedMeanwhile() throws {
    send(request)
    dispatcher.gate.stop(request.endPoint)
    coordinator.grant()
    #expect(transport.takeStarted() == nil)
    #expect(coordinator.events.takeAll() == ["released"])
    dispatcher.gate.resume(request.endPoint)
    coordinator.grant()
    try #require(transport.takeStarted()).respond()
    #expect(responses.count == 1)
  }

  @Test("a redirect keeps the permit of its end-point, and asks for one of another end-point")
  func redirected() throws {
    send(request)
    coordinator.grant()
    try #require(transport.takeStarted()).respond(302, [.location: "http://a/next"])
    #expect(coordinator.events.takeAll() == [])
    try #require(transport.takeStarted()).respond(302, [.location: "http://b/"])
    #expect(coordinator.events.takeAll() == ["released"])
    #expect(transport.takeStarted() == nil)
    coordinator.grant()
    try #require(transport.takeStarted()).respond()
    #expect(coordinator.events.takeAll() == ["released"])
    #expect(responses.values.map(\.code) == [nil])
  }

  @Test("a body that can't be opened was not sent: no attempt, and no rate counts it")
  func unopened() async throws {
    let dispatcher = URLDispatcher(
      transport: transport,
      limits: try GateLimits(endPoint: EndPointLimits(requests: 1, rates: [Rate("1/min")])),
      timers: clock, logger: .silent)
    var post = request
    post.method = .post
    post.body = RequestBody(file: "/nonexistent/body")
    dispatcher.dispatch(post) { [responses] in responses.add($0) }
    await responses.wait(for: 1)
    let error = try #require(responses.last?.error)
    #expect(error.attempts == 0)
    dispatcher.dispatch(request) { [responses] in responses.add($0) }
    try #require(transport.takeStarted()).respond()
  }
}

/// A coordinator that grants its only permit when the test says so.
private final class HookedCoordinator: GateCoordinator, SharedPermitRequest, SharedPermit {
  private struct State {
    var hook: (@Sendable () -> Void)?
    var completion: (@Sendable (Result<any SharedPermit, DispatchError>) -> Void)?
  }

  private let state = Locked(State())
  let events = Outcomes<String>()
  let description = "hooked"

  /// Runs `action` inside the next request.
  func whenAsked(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.hook = action } }

  func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest {
    let hook = state.withLock { state in
      state.completion = completion
      return state.hook.take()
    }
    hook?()
    return self
  }

  func grant() { state.withLock { $0.completion }?(.success(self)) }
  func refuse(_ code: DispatchError.Code) { state.withLock { $0.completion }?(.failure(DispatchError(code))) }

  func cancel() { events.add("cancelled") }
  func settle(_ weights: [String: Int]) -> Bool { false }
  func shutDown() {}

  func release() -> Bool {
    events.add("released")
    return true
  }
}
