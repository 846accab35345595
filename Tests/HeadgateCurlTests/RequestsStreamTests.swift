import Headgate
import HeadgateOrigin
import HeadgateTesting
import Testing

/// The part of docs/requests.md on bodies that arrive shows no code but this.
@Suite struct RequestsStreamTests {
  private func show(_ text: String) {}
  private func refuse(_ statusCode: Int, _ body: [UInt8]) {}

  @Sendable private static func answer(_ request: OriginRequest) -> OriginAnswer? {
    var answer = OriginAnswer.text("data: a\n\ndata: [DONE]\n\n", status: request.path == "/refused" ? 400 : 200)
    answer.headers = [OriginHeader("Content-Type", "text/event-stream")]
    return answer
  }

  private func server() throws -> Origin {
    var script = OriginScript()
    script.handler = Self.answer
    return try Origin(script: script)
  }

  @Test("events, lines and pieces")
  func streams() async throws {
    let server = try server()
    let dispatcher = try URLDispatcher()
    let url = server.url("/stream")
    for try await event in dispatcher.events(from: url) {
      show(event.data)
      if event.data == "[DONE]" { break }
    }
    for try await line in try await dispatcher.stream(for: url).body.lines() { show(line) }
    for try await piece in try await dispatcher.stream(for: url).body { show("\(piece.count) bytes") }
    await dispatcher.shutDown()
  }

  @Test("one answer", arguments: ["/stream", "/refused"])
  func once(path: String) async throws {
    let server = try server()
    let dispatcher = try URLDispatcher()
    let url = server.url(path)
    var request = try DispatchRequest(url, method: .post, body: RequestBody(Array(#"{"stream": true}"#.utf8)))
    request.headerFields[.accept] = "text/event-stream"
    let response = try await dispatcher.stream(for: request, lane: .long)
    if response.statusCode == 200 {
      for try await event in response.body.events() { show(event.data) }
    } else {
      refuse(response.statusCode, try await response.body.collect(upTo: 65536))
    }
    await dispatcher.shutDown()
  }

  @Test("reconnection")
  func reconnection() async throws {
    let server = try server()
    let dispatcher = try URLDispatcher()
    let url = server.url("/stream")
    var reconnection = EventReconnection()
    reconnection.wait = .seconds(1)
    reconnection.attempts = 10
    var iterator = dispatcher.events(from: url, reconnection: reconnection).makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    await dispatcher.shutDown(.now)
  }

  @Test("the page shows no other code")
  func document() throws {
    let shown = try DocumentedCode("requests.md", under: "Bodies that arrive")
    #expect(!shown.lines.isEmpty)
    #expect(try shown.lines(missingIn: #filePath) == [])
  }
}
