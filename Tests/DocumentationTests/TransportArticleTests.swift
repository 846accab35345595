import Headgate
import HeadgateTesting
import HeadgateThreads
import Synchronization
import Testing

struct HandlerTransport: Transport {
  let handle: @Sendable (DispatchRequest) async throws -> (status: Int, body: [UInt8])

  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    HandlerExchange(
      task: Task {
        let failure = await answer(exchange, events)
        events.ended(ExchangeEnd(failure: failure))
      })
  }

  private func answer(_ exchange: Exchange, _ events: any ExchangeEvents) async -> DispatchError? {
    do {
      let (status, body) = try await handle(exchange.request)
      let isWanted = events.received(ResponseHead(statusCode: status)) != .abort
      if isWanted, !body.isEmpty { _ = body.withUnsafeBytes { events.received($0) } }
      return isWanted ? nil : DispatchError(.cancelled, phase: .receiving)
    } catch {
      return DispatchError(.transportFailed, phase: .awaitingHead, underlyingError: error)
    }
  }
}

final class HandlerExchange: ExchangeControl {
  private let task: Task<Void, Never>

  init(task: Task<Void, Never>) { self.task = task }

  func cancel() { task.cancel() }
  func resume() {}
  var phase: DispatchError.Phase { .awaitingHead }
}

/// A transport that leases its sockets, as far as the article shows it.
private final class LeasingTransport: Transport, SocketHolder {
  let leases = Mutex<SocketLeases?>(nil)

  func use(_ sockets: GateSockets) {
    let joined = sockets.join(self)  // it is a SocketHolder, which the gate keeps until `leave()`
    leases.withLock { $0 = joined }
  }

  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    let (leases, route) = (leases.withLock { $0 }, SocketRoute(to: exchange.request.endPoint))
    let isLeased = leases?.lease(route) == true
    if isLeased { _ = events.received(ResponseHead(statusCode: 200)) }
    if isLeased { leases?.release(route) }
    events.ended(ExchangeEnd(failure: isLeased ? nil : DispatchError(.transportFailed)))
    return HandlerExchange(task: Task {})
  }

  func shutDown(whenClosed: @escaping @Sendable () -> Void) {
    leases.withLock { $0.take() }?.leave()
    whenClosed()
  }

  func limitsChanged() {}
  func checkIdleConnections() {}
  func socketIsReserved(_ route: SocketRoute) {}
}

/// The code of the article on transports.
@Suite struct TransportArticleTests {
  private let printed = Printed()
  private func print(_ items: Any...) { printed.add(items) }

  @Test("a transport that calls a function")
  func handler() async throws {
    let transport = HandlerTransport { request in (200, Array("you asked for \(request.url)".utf8)) }
    let dispatcher = URLDispatcher(transport: transport)
    print(try await dispatcher.data(for: "http://example.com/a").text)
    #expect(
      printed.text == """
        you asked for http://example.com/a
        """)
    await dispatcher.shutDown()
  }

  @Test("its errors and its cancellation reach the caller, and the permit is returned")
  func ends() async throws {
    struct Broken: Error {}
    let started = Gate()
    let transport = HandlerTransport { request in
      if request.url.hasSuffix("/broken") { throw Broken() }
      started.open()
      try await Latch().wait()
      return (200, [])
    }
    let dispatcher = URLDispatcher(transport: transport)
    let error = await #expect(throws: DispatchError.self) {
      try await dispatcher.data(for: "http://handler.example/broken")
    }
    #expect(error?.code == .transportFailed && error?.underlyingError is Broken)
    let caller = Task { try await dispatcher.data(for: "http://handler.example/slow") }
    try await started.wait()
    caller.cancel()
    await #expect(throws: DispatchError.self) { try await caller.value }
    await dispatcher.shutDown()
    #expect(dispatcher.gate.counts.running == 0)
  }

  @Test("a transport that leases its sockets")
  func leases() async throws {
    let transport = LeasingTransport()
    let dispatcher = URLDispatcher(transport: transport)
    #expect(try await dispatcher.data(for: "http://leases.example/").statusCode == 200)
    #expect(dispatcher.gate.sockets.openCount == 0)
    await dispatcher.shutDown()
  }
}
