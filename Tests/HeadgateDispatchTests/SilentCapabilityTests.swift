import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import Testing

/// A request's settings are either honoured or refused.
@Suite struct SilentCapabilityTests {
  private func code(_ transport: ScriptedTransport, _ change: (inout DispatchRequest) -> Void) async throws
    -> DispatchError?
  {
    let bench = try Bench(transport: transport)
    var request = try bench.request()
    change(&request)
    do throws(DispatchError) {
      _ = try await bench.dispatcher.data(for: request)
      return nil
    } catch {
      return error
    }
  }

  private func plain() -> ScriptedTransport { ScriptedTransport { $0.respond() } }

  @Test("an explicit connectTimeout is refused if it can't be kept; the default is not")
  func connectTimeout() async throws {
    #expect(try await code(plain()) { _ in } == nil)
    #expect(try await code(plain()) { $0.connectTimeout = nil } == nil)
    let refused = try await code(plain()) { $0.connectTimeout = .seconds(30) }
    #expect(refused?.code == .unsupported)
    #expect(refused?.detail.contains("connect timeouts") == true)
    let able = ScriptedTransport(capabilities: .connectTimeout) { $0.respond() }
    #expect(try await code(able) { $0.connectTimeout = .seconds(3) } == nil)
  }

  @Test("Expect: 100-continue is sent, or the request is refused; a request without a body has nothing to ask")
  func expectsContinue() async throws {
    #expect(try await code(plain()) { $0.expectsContinue = true } == nil)
    func post(_ request: inout DispatchRequest, _ asks: Bool?) {
      request.method = .post
      request.body = RequestBody("x")
      request.expectsContinue = asks
    }
    #expect(try await code(plain()) { post(&$0, nil) } == nil)
    #expect(try await code(plain()) { post(&$0, false) } == nil)
    #expect(try await code(plain()) { post(&$0, true) }?.code == .unsupported)
    let able = ScriptedTransport(capabilities: .expectsContinue) { $0.respond() }
    #expect(try await code(able) { post(&$0, true) } == nil)
  }
}
