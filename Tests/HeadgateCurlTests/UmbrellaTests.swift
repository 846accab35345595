import Headgate
import HeadgateOrigin
import Testing

/// What `import Headgate` brings: with members visible only by their module's import, this file is the proof.
@Suite struct UmbrellaTests {
  @Test("a program that imports the umbrella alone can name fields and methods, and say how to retry")
  func oneImport() async throws {
    let origin = try Origin()
    let dispatcher = try URLDispatcher(limits: GateLimits(endPoint: EndPointLimits(requests: 1)))
    var request = try DispatchRequest(origin.url("/echo"), method: .post, body: RequestBody("x"))
    request.headerFields[.accept] = "text/plain"
    request.retry = RetryPolicy(attempts: 2, backoff: .none, budget: RetryBudget())
    let response = try await dispatcher.data(for: request)
    #expect(response.head.status == .ok)
    #expect(HTTPField.Name("X-Echo-Accept").flatMap { response.headerFields[$0] } == "text/plain")
    await dispatcher.shutDown()
  }
}
