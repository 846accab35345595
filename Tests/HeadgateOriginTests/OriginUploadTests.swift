import HeadgateOrigin
import HeadgateThreads
import Testing

/// The origin and the bodies of requests.
@Suite struct OriginUploadTests {
  private let origin: Origin

  init() throws { origin = try Origin() }

  @Test("a sink counts the bytes that it reads, in either framing, and responds with the count")
  func sink() async throws {
    let client = try RawClient(port: origin.port)
    try client.request("/sink", method: "PUT", headers: ["Content-Length: 5"])
    try client.send("12345")
    #expect(try client.answer().text == "5")
    try client.request("/sink", method: "PUT", headers: ["Transfer-Encoding: chunked"])
    try client.send("3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")
    #expect(try client.answer().text == "7")
    #expect(origin.counts().bodyBytes == 12)
  }

  @Test("an answer that reads the body gets all of it, and the connection continues")
  func reading() async throws {
    origin.setScript(
      OriginScript { request in
        guard request.path == "/orders" else { return nil }
        return .reading { body in
          guard !body.isEmpty else { return .text("no order", status: 400) }
          var answer = OriginAnswer.text("got " + String(decoding: body, as: UTF8.self), status: 202)
          answer.closesConnection = body.last == UInt8(ascii: ".")
          // It has been read: it is too late to be early, or to read it again.
          return body.first == UInt8(ascii: "!") ? answer.early() : answer
        }
      })
    let client = try RawClient(port: origin.port)
    try client.request("/orders", method: "POST", headers: ["Content-Length: 5"])
    try client.send("12")
    #expect(await origin.waitUntil({ $0.bodyBytes == 2 }, until: .after(.seconds(60))))
    #expect(origin.counts().served == 0)
    try client.send("345")
    var answer = try client.answer()
    #expect((answer.status, answer.text) == (202, "got 12345"))
    try client.request("/orders", method: "POST", headers: ["Transfer-Encoding: chunked"])
    try client.send("3\r\n!bc\r\n4\r\ndefg\r\n0\r\n\r\n")
    #expect(try client.answer().text == "got !bcdefg")
    try client.request("/orders")
    answer = try client.answer()
    #expect((answer.status, answer.text) == (400, "no order"))
    try client.request("/orders", method: "POST", headers: ["Content-Length: 2"])
    try client.send("x.")
    #expect(try client.answer().text == "got x.")
    #expect(try client.remainder().isEmpty)
  }

  @Test("an answer that reads the body can hold, and reads it empty a second time")
  func readingHold() async throws {
    origin.setScript(
      OriginScript { request in
        request.path == "/hold" ? .reading { _ in .hold } : .reading { _ in .reading { _ in .hold } }
      })
    let client = try RawClient(port: origin.port)
    try client.request("/twice")
    #expect(try client.answer().text == "")
    try client.request("/hold")
    #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
    origin.release()
    #expect(try client.answer().text == "released\n")
  }

  @Test("a paused sink continues reading when it is released")
  func pause() async throws {
    let client = try RawClient(port: origin.port)
    try client.request("/sink?pause=3", method: "PUT", headers: ["Content-Length: 10"])
    try client.send("12345")
    #expect(await origin.waitUntil({ $0.bodyBytes == 5 }, until: .after(.seconds(60))))
    origin.release()
    try client.send("67890")
    #expect(try client.answer().text == "10")
  }

  @Test("a client that disconnects while a sink pauses is detected at the release")
  func goneWhilePaused() async throws {
    let client = try RawClient(port: origin.port)
    try client.request("/sink?pause=3", method: "PUT", headers: ["Content-Length: 10"])
    try client.send("12345")
    #expect(await origin.waitUntil({ $0.bodyBytes == 5 }, until: .after(.seconds(60))))
    client.disconnect()
    origin.release()
    #expect(await origin.waitUntil({ $0.sockets == 0 && $0.aborted == 1 }, until: .after(.seconds(60))))
  }

  @Test(
    "an early answer is sent after a number of bytes, with its status, and then the connection ends", arguments: [0, 1])
  func early(_ abrupt: Int) async throws {
    let client = try RawClient(port: origin.port)
    try client.request("/early?after=3&status=507&abrupt=\(abrupt)", method: "PUT", headers: ["Content-Length: 10"])
    try client.send("12")
    #expect(await origin.waitUntil({ $0.bodyBytes == 2 }, until: .after(.seconds(60))))
    try client.send("345")
    let response = try client.answer()
    #expect(response.status == 507)
    #expect(response.text == "too large\n")
    #expect(try client.remainder().isEmpty)
  }

  @Test("an early redirect leads to its target")
  func earlyRedirect() async throws {
    let client = try RawClient(port: origin.port)
    try client.request("/early?status=307&to=/sink", method: "PUT", headers: ["Content-Length: 10"])
    let response = try client.answer()
    #expect((response.status, response.headers["location"]) == (307, "/sink"))
  }
}
