import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Ends of a request during the grant of its permit, while interceptors are asked whether the preparation is outdated.
@Suite struct InterceptorOutdatedTests {
  private let responses = Responses()
  private let action = LockedBox<(@Sendable () -> Void)?>(nil)

  /// Performs an action when it is asked, and answers yes.
  private func outdated(after gate: Gate? = nil) -> Hooks {
    Hooks { _, _ in
      await gate?.waitRegardless()
    } outdated: { [action] in
      action.withLock { $0.take() }?()
      return true
    }
  }

  @Test("an outdated request at a gate that ends meanwhile is not prepared again", arguments: [false, true])
  func endingGate(shares: Bool) async throws {
    let interceptor = outdated()
    let bench = try Bench(requests: 1, interceptors: [interceptor])
    let transport = shares ? ScriptedTransport() : bench.transport
    let dispatcher =
      shares
      ? URLDispatcher(transport: transport, sharing: bench.dispatcher.gate, interceptors: [interceptor])
      : bench.dispatcher
    // The gate tells running requests of its end after the grant.
    action.withLock { $0 = { [owner = bench.dispatcher] in owner.beginShutDown(.now) } }
    dispatcher.dispatch(try bench.request()) { [responses] in responses.add($0) }
    await responses.wait(for: 1)
    await bench.dispatcher.shutDown(.now)
    await dispatcher.shutDown(.now)
    #expect(responses.values.map(\.code) == [.shutDown])
    #expect(interceptor.calls.values == ["prepare 0"])
    #expect(transport.takeStarted() == nil)
    #expect(transport.violations == [])
    #expect(await bench.isCleanAtLast())
  }

  @Test("a request cancelled while it turns out to be outdated is neither prepared again nor expected any more")
  func cancelled() async throws {
    let goesOn = Gate()
    let interceptor = outdated(after: goesOn)
    let bench = try Bench(requests: 1, interceptors: [interceptor])
    let operation = bench.send(try bench.request(), into: responses)
    action.withLock { $0 = { operation.cancel() } }
    goesOn.open()
    await responses.wait(for: 1)
    // Waits for all requests that the gate expects.
    await bench.dispatcher.shutDown(.drain)
    #expect(responses.values.map(\.code) == [.cancelled])
    #expect(interceptor.calls.values == ["prepare 0"])
    #expect(bench.transport.takeStarted() == nil)
    #expect(await bench.isCleanAtLast())
  }
}
