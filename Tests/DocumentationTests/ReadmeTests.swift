import Foundation
import Headgate
import HeadgateOrigin
import HeadgateTesting
import Synchronization
import Testing

/// The code of README.md. Its first program is Examples/FirstDispatch.
@Suite struct ReadmeTests {
  private let printed = Printed()
  private func show(_ text: String) { printed.add([text]) }

  @Test("the faces of a dispatcher")
  func faces() async throws {
    let connections = Mutex(0)
    let server = try Origin(
      script: OriginScript { request in
        guard request.path == "/feed" else { return nil }
        let isFirst = connections.withLock { count in
          count += 1
          return count == 1
        }
        guard isFirst else { return .text("", status: 204) }
        var answer = OriginAnswer.text("retry: 1\ndata: news\n\n")
        answer.headers = [OriginHeader("Content-Type", "text/event-stream")]
        return answer
      })
    let (printed, ended) = (printed, Gate())
    @Sendable func show(_ result: Result<DispatchResponse, DispatchError>) {
      printed.add([(try? result.get().body.count) ?? -1])
      ended.open()
    }
    func show(_ text: String) { self.show(text) }
    @Sendable func query() async throws {}
    let (url, bigFile, feed) = (server.url("/bytes/1"), server.url("/bytes/2"), server.url("/feed"))
    let (request, endPoint) = (
      try DispatchRequest(server.url("/bytes/3")), try EndPoint(host: "db.example", port: 5432)
    )
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: path) }

    let limits = try GateLimits(endPoint: EndPointLimits(requests: 4, long: 2, rates: [Rate("500/min")]), total: 200)
    let dispatcher = try URLDispatcher(limits: limits)

    let page = try await dispatcher.data(for: url)  // in memory
    let file = try await dispatcher.download(for: bigFile, to: .resuming(path))  // in a folder that exists
    for try await event in dispatcher.events(from: feed) { show(event.data) }  // a stream, in a lane of its own
    dispatcher.dispatch(request) { result in show(result) }  // the same without async
    try await dispatcher.gate.withPermit(for: endPoint) { try await query() }  // the same limit for other work

    try await ended.wait()
    #expect(page.body.count == 1 && file.bytes == 2 && printed.text == "news\n3")
    await dispatcher.shutDown()
  }
}
