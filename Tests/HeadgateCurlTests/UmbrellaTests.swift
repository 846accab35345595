import Headgate
import HeadgateOrigin
import Testing

/// The contents of `import Headgate`. Members are visible only through their module's import, so this file is the
/// proof.
@Suite struct UmbrellaTests {
  @Test("a program that imports only the umbrella can name fields and methods, and configure retries")
  func oneImport() async throws {
    let origin = try Origin()
    let dispatcher = try URLDispatcher(perHost: 1)
    var request = try DispatchRequest(origin.url("/echo"), method: .post, body: RequestBody("x"))
    request.headerFields[.accept] = "text/plain"
    request.retry = RetryPolicy(attempts: 2, backoff: .none, budget: .shared(RetryBudget()))
    let response = try await dispatcher.data(for: request)
    #expect(try response.successful().head.status == .ok && dispatcher.limits.endPoint.requests == 1)
    #expect(throws: LimitError.self) { try URLDispatcher(perHost: 0) }
    #expect(HTTPField.Name("X-Echo-Accept").flatMap { response.headerFields[$0] } == "text/plain")
    await dispatcher.shutDown()
  }
}
