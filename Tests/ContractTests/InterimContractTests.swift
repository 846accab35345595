import HeadgateDispatch
import HeadgateFlow
import Testing

@testable import HeadgateOrigin

/// Interim responses (1xx) are no responses: no transport delivers one.
@Suite struct InterimContractTests {
  private let origin: Origin

  init() throws { origin = try Origin() }

  private static let interim = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"

  private func dispatcher(_ trial: TransportOnTrial, _ heads: String...) throws -> URLDispatcher {
    let left = LockedBox(heads)
    origin.setScript(
      OriginScript { request in
        guard request.path == "/" else { return nil }
        let head = left.withLock { $0.isEmpty ? "200 OK" : $0.removeFirst() }
        // The origin closes the connection after bytes of a script's own, and says so: a second attempt on it would fail.
        let text =
          "\(Self.interim)\(Self.interim)HTTP/1.1 \(head)\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
        return OriginAnswer(.raw(Array(text.utf8)))
      })
    return URLDispatcher(transport: try trial.make())
  }

  @Test("the response that follows an interim one is delivered", arguments: TransportOnTrial.all)
  func response(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let response = try await dispatcher.data(for: origin.url("/"))
    #expect((response.statusCode, response.text) == (200, "ok"))
    let streamed = try await dispatcher.stream(for: DispatchRequest(origin.url("/")))
    #expect(streamed.head.statusCode == 200)
    #expect(try await streamed.body.collect(upTo: 10) == Array("ok".utf8))
    await dispatcher.shutDown()
  }

  @Test("a failure that follows an interim response is retried", arguments: TransportOnTrial.all)
  func retry(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial, "503 Busy")
    var request = try DispatchRequest(origin.url("/"))
    request.retry = RetryPolicy(attempts: 2, backoff: .none)
    #expect(try await dispatcher.data(for: request).statusCode == 200)
    #expect(origin.counts().received == 2)
    await dispatcher.shutDown()
  }

  @Test("a redirect that follows an interim response is followed, or fails", arguments: TransportOnTrial.all)
  func redirect(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial, "307 Moved\r\nLocation: \(origin.url("/bytes/10"))")
    do throws(DispatchError) {
      #expect(try await dispatcher.data(for: DispatchRequest(origin.url("/"))).body.count == 10)
    } catch {
      #if canImport(FoundationNetworking)
      #expect(trial.testDescription == "URLSession" && error.code == .badResponse, "\(error)")
      #else
      Issue.record(error)
      #endif
    }
    await dispatcher.shutDown()
  }
}
