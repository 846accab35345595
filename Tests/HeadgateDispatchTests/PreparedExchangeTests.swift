import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// An exchange between its permit of the gate and its start.
@Suite struct PreparedExchangeTests {
  private let transport = ScriptedTransport()
  private let coordinator = HookedCoordinator()
  private let listener = EventRecorder()
  private let exchange: PreparedExchange

  init() throws {
    let gate = EndPointGate(.standard, ManualClock(), .silent, coordinator: coordinator)
    let core = DispatchCore(gate, transport, [], [])
    let bare = Exchange(request: try DispatchRequest("http://a/"), mayPause: false)
    exchange = PreparedExchange(bare, nil, core, listener)
  }

  @Test("cancelled while the coordinator is asked, which grants at once: the permit is returned, and nothing starts")
  func cancelledBeforeAnswer() {
    coordinator.whenAsked { [exchange, coordinator] in
      exchange.cancel()
      coordinator.grant()
    }
    exchange.start()
    #expect(listener.events.values == ["cancelled"])
    #expect(coordinator.events.values == ["released"])
    #expect(transport.takeStarted() == nil)
  }

  @Test("cancelled while the coordinator is asked, which lets it wait: its wait ends, then the exchange")
  func cancelledBeforeWait() {
    coordinator.whenAsked { [exchange] in exchange.cancel() }
    exchange.start()
    #expect(listener.events.values == ["wait started", "cancelled"])
    #expect(coordinator.events.values == ["cancelled"])
    coordinator.grant()
    #expect(coordinator.events.values == ["cancelled", "released"])
    #expect(transport.takeStarted() == nil)
  }

  @Test("a wait is reported before its end, and the permit is returned before the end of the exchange")
  func waits() throws {
    exchange.start()
    #expect(exchange.isWaiting)
    #expect(exchange.phase == .waiting)
    coordinator.grant()
    #expect(!exchange.isWaiting)
    #expect(listener.events.values == ["wait started", "wait ended"])
    listener.whenEnded { [coordinator] in #expect(coordinator.events.values == ["released"]) }
    try #require(transport.takeStarted()).respond()
    #expect(listener.events.values == ["wait started", "wait ended", "complete"])
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

  func cancel() { events.add("cancelled") }
  func settle(_ weights: [String: Int]) -> Bool { false }
  func shutDown() {}

  func release() -> Bool {
    events.add("released")
    return true
  }
}

private final class EventRecorder: ExchangeEvents {
  let events = Outcomes<String>()
  private let hook = Locked<(@Sendable () -> Void)?>(nil)

  /// Runs `action` at the end of the exchange.
  func whenEnded(_ action: @escaping @Sendable () -> Void) { hook.withLock { $0 = action } }

  func received(_ head: ResponseHead) -> BodyFlow { .more }
  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow { .more }
  func socketWaitStarted() { events.add("wait started") }
  func socketWaitEnded() { events.add("wait ended") }

  func ended(_ end: ExchangeEnd) {
    hook.withLock { $0.take() }?()
    events.add(end.failure?.code.description ?? "complete")
  }
}
