import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// What ends a request while it is asked, inside the grant of its permit, whether what was prepared is out of date.
@Suite struct InterceptorOutdatedTests {
  private let responses = Responses()
  private let action = LockedBox<(@Sendable () -> Void)?>(nil)

  /// Does something when it is asked, and says yes.
  private func outdated(after gate: Gate? = nil) -> Hooks {
    Hooks { _, _ in
      await gate?.wait()
    } outdated: { [action] in
      action.withLock { $0.take() }?()
      return true
    }
  }

  @Test("what is out of date at a gate that ends meanwhile is not prepared anew", arguments: [false, true])
  func endingGate(shares: Bool) async throws {
    let interceptor = outdated()
    let bench = try Bench(requests: 1, interceptors: [interceptor])
    let transport = shares ? ScriptedTransport() : bench.transport
    let dispatcher =
      shares
      ? URLDispatcher(transport: transport, sharing: bench.dispatcher.gate, interceptors: [interceptor])
      : bench.dispatcher
    // What the gate says to those that run comes after the grant.
    action.withLock { $0 = { [owner = bench.dispatcher] in owner.beginShutDown(.now) } }
    dispatcher.dispatchShort(try bench.request()) { [responses] in responses.add($0) }
    await responses.wait(for: 1)
    await bench.dispatcher.shutDown(.now)
    await dispatcher.shutDown(.now)
    #expect(responses.values.map(\.code) == [.shutDown])
    #expect(interceptor.calls.values == ["prepare 0"])
    #expect(transport.takeStarted() == nil)
    #expect(transport.violations == [])
    #expect(await bench.isCleanAtLast())
  }

  @Test("what is cancelled when it turns out to be out of date is not prepared anew, nor expected any more")
  func cancelled() async throws {
    let goesOn = Gate()
    let interceptor = outdated(after: goesOn)
    let bench = try Bench(requests: 1, interceptors: [interceptor])
    let operation = bench.send(try bench.request(), into: responses)
    action.withLock { $0 = { operation.cancel() } }
    goesOn.open()
    await responses.wait(for: 1)
    // Waits for all that the gate expects.
    await bench.dispatcher.shutDown(.drain)
    #expect(responses.values.map(\.code) == [.cancelled])
    #expect(interceptor.calls.values == ["prepare 0"])
    #expect(bench.transport.takeStarted() == nil)
    #expect(await bench.isCleanAtLast())
  }
}
