import HTTPTypes
import HeadgateDispatch
import HeadgateOrigin
import Testing

/// Cookies in a request's own fields.
@Suite struct CookieFieldTests {
  @Test("several cookies of a request are sent in one field, as servers read them", arguments: TransportOnTrial.all)
  func cookies(_ trial: TransportOnTrial) async throws {
    let origin = try Origin()
    let dispatcher = URLDispatcher(transport: try trial.make())
    var request = try DispatchRequest(origin.url("/echo"))
    request.headerFields[.cookie] = "a=b; c=d"
    let response = try await dispatcher.data(for: request)
    #expect(response.headerFields[try #require(HTTPField.Name("X-Echo-Cookie"))] == "a=b; c=d")
    await dispatcher.shutDown()
    origin.stop()
  }
}
