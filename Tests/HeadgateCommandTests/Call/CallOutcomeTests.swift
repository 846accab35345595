import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import Testing

@testable import HeadgateCommand

/// The outcome of a row, by the error of its request.
@Suite struct CallOutcomeTests {
  /// Refuses everything.
  private final class Refusing: GateCoordinator {
    private final class Refused: SharedPermitRequest {
      func cancel() {}
    }

    let description = "unreachable"

    func requestPermit(
      _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
    ) -> any SharedPermitRequest {
      completion(.failure(DispatchError(.coordinatorUnavailable)))
      return Refused()
    }

    func shutDown() {}
  }

  private func failure(_ dispatcher: URLDispatcher) async throws -> DispatchError {
    var request = try DispatchRequest("http://a/")
    request.method = .post
    defer { dispatcher.beginShutDown(.now) }
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
    } catch {
      return error
    }
    throw DispatchError(.cancelled)
  }

  @Test("a row whose permit the coordinator refuses was not sent")
  func refused() async throws {
    let error = try await failure(URLDispatcher(transport: ScriptedTransport { $0.respond() }, coordinator: Refusing()))
    #expect(error.code == .coordinatorUnavailable)
    #expect(CallOutcome(error, mayRepeat: false) == .notSent)
  }

  @Test("a row without a connection was not sent, and one whose connection broke off may have been processed")
  func byPhase() async throws {
    for (phase, outcome) in [
      (DispatchError.Phase.connecting, CallOutcome.notSent), (.awaitingHead, .unknown), (.receiving, .unknown),
    ] {
      let transport = ScriptedTransport { $0.end(DispatchError(.connectionLost, phase: phase)) }
      let error = try await failure(URLDispatcher(transport: transport))
      #expect(CallOutcome(error, mayRepeat: false) == outcome, "\(phase)")
    }
  }
}
