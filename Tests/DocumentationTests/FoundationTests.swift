import Foundation
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
}
