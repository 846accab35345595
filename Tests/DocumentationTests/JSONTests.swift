// Without Foundation: the helpers are part of `import Headgate`.
import HTTPTypes
import Headgate
import HeadgateOrigin
import Testing

/// The JSON of the article about first requests.
@Suite struct JSONTests {
  struct Order: Codable {
    var id: Int
    var item: String
  }

  @Test("JSON")
  func json() async throws {
    let server = try Origin()
    let dispatcher = try URLDispatcher()
    let url = server.url("/echo")
    let post = try DispatchRequest(url, method: .post, body: RequestBody(json: Order(id: 7, item: "pen")))
    let order = try await dispatcher.data(for: post).successful().decode(Order.self)
    #expect(order.id == 7 && order.item == "pen")
    await dispatcher.shutDown()
  }
}
