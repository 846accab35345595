import Foundation
import HTTPTypes
import Headgate
import HeadgateOrigin
import HeadgateURLSession
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The code of the front page of HeadgateURLSession.
@Suite struct FoundationTests {
  private let printed = Printed()
  private func print(_ items: Any...) { printed.add(items) }

  @Test("a URLRequest")
  func urlRequest() async throws {
    let server = try Origin()
    let dispatcher = try URLDispatcher()
    let url = try #require(URL(string: server.url("/bytes/5")))
    let request = URLRequest(url: url)
    let (data, response) = try await dispatcher.data(for: request)
    print(data.count, "bytes from", response.url?.path ?? "nowhere")
    #expect(
      printed.text == """
        5 bytes from /bytes/5
        """)
    await dispatcher.shutDown()
  }

  struct Order: Codable {
    var id: Int
    var item: String
  }

  @Test("JSON")
  func json() async throws {
    let server = try Origin()
    let dispatcher = try URLDispatcher()
    let url = server.url("/echo")
    var post = try DispatchRequest(url, method: .post, body: RequestBody(json: Order(id: 7, item: "pen")))
    post.headerFields[.contentType] = "application/json"
    let order = try await dispatcher.data(for: post).decode(Order.self)
    #expect(order.id == 7 && order.item == "pen")
    await dispatcher.shutDown()
  }
}
