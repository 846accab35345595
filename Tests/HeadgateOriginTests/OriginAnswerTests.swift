import HeadgateOrigin
import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#else
import Musl
#endif

@Suite struct OriginAnswerTests {
  let origin: Origin
  let client: RawClient

  init() throws {
    origin = try Origin()
    client = try RawClient(port: origin.port)
  }

  @Test(arguments: [
    ("/", 200, "ok\n"), ("/status/418", 418, "status 418\n"), ("/nope", 404, "no such path\n"),
    ("/bytes/x", 400, "bad parameter: bytes\n"), ("/status/100", 400, "bad parameter: status\n"),
    ("/?delay=-1", 400, "bad parameter: delay\n"), ("/redirect", 400, "bad parameter: to\n"),
    ("/redirect?to=a%0D%0Ab", 400, "bad parameter: to\n"), ("http://other/status/201?x", 201, "status 201\n"),
  ])
  func `Answers according to the path`(path: String, status: Int, text: String) throws {
    try client.request(path)
    let answer = try client.answer()
    #expect(answer.status == status)
    #expect(answer.text == text)
    #expect(answer.headers["content-type"] == "text/plain")
  }

  @Test func `Sends the bytes of the pattern`() throws {
    try client.request("/bytes/1000000")
    let body = try client.answer().body
    #expect(body.count == 1_000_000)
    #expect(body.indices.allSatisfy { body[$0] == OriginAnswer.patternByte(at: $0) })
  }

  @Test func `Redirects to the decoded location`() throws {
    try client.request("/redirect?code=308&size=70000&to=http%3A%2F%2Fhost%2Fpath%3Fa%3D1%26b+c")
    let answer = try client.answer()
    #expect(answer.status == 308)
    #expect(answer.headers["location"] == "http://host/path?a=1&b+c")
    #expect(answer.body.count == 70_000)
  }

  @Test func `Sends Retry-After`() throws {
    try client.request("/status/503?retry-after=7")
    #expect(try client.answer().headers["retry-after"] == "7")
  }

  @Test(arguments: ["/delay/60", "/?delay=60", "/status/500?delay=60", "/stream?delay=60"])
  func `Waits before the answer`(path: String) throws {
    let start = Deadline.now
    try client.request(path)
    _ = try client.answer()
    #expect(Deadline.now - start >= .milliseconds(60))
  }

  @Test func `Streams chunks at intervals`() throws {
    let start = Deadline.now
    try client.request("/stream?chunks=4&every=20&size=300")
    let answer = try client.answer()
    #expect(answer.chunks == 4)
    #expect(answer.body.count == 1_200)
    #expect(Deadline.now - start >= .milliseconds(60))
  }

  @Test func `Streams without end until the client closes`() async throws {
    try client.request("/stream?chunks=0&size=10000")
    #expect(try client.answer(hasBody: false).status == 200)
    for _ in 0..<500 { #expect(try client.chunk()?.count == 10_000) }
    client.disconnect()
    #expect(await origin.waitUntil({ $0.aborted == 1 && $0.sockets == 0 }, until: .after(generous)))
  }

  @Test func `Streams to HTTP 1.0 without chunks`() throws {
    try client.send("GET /stream?chunks=3&size=4 HTTP/1.0\r\n\r\n")
    let answer = try client.answer(hasBody: false)
    #expect(answer.headers["transfer-encoding"] == nil)
    #expect(try client.remainder().count == 12)
  }

  @Test func `Sends a byte at a time`() throws {
    let start = Deadline.now
    try client.request("/trickle?bytes=5&every=10")
    #expect(try client.answer().body == (0..<5).map(OriginAnswer.patternByte(at:)))
    #expect(Deadline.now - start >= .milliseconds(40))
  }

  @Test func `Resets before the answer`() throws {
    try client.request("/reset")
    let failure = #expect(throws: RawClient.Failure.self) { try client.remainder() }
    #expect(failure?.errno == ECONNRESET)
  }

  @Test func `Resets during the answer`() throws {
    try client.request("/reset?after=2000")
    let answer = try client.answer(hasBody: false)
    #expect(answer.headers["content-length"].flatMap { Int($0) } ?? 0 > 2_000)
    #expect(try client.bytes(2_000).count == 2_000)
    #expect(throws: RawClient.Failure.self) { try client.remainder() }
  }

  @Test func `Truncates a body`() throws {
    try client.request("/short?declared=100&sent=30")
    #expect(try client.answer(hasBody: false).headers["content-length"] == "100")
    #expect(try client.remainder().count == 30)
  }

  @Test func `Sends bytes that are not HTTP`() throws {
    try client.request("/garbage")
    #expect(try !client.remainder().starts(with: "HTTP".utf8))
  }

  @Test(arguments: [0, 12, 1023, 1024, 1036, 100_000])
  func `Fills the head`(count: Int) throws {
    try client.request("/")
    let plain = try client.answer().headSize
    try client.request("/headers?bytes=\(count)")
    #expect(try client.answer().headSize == plain + count)
  }

  @Test func `Echoes the request with its body`() throws {
    try client.request("/echo", method: "PUT", headers: ["Content-Length: 5", "X-Thing: one"], body: "hello")
    let counted = try client.answer()
    #expect(counted.text == "hello")
    #expect(counted.headers["x-method"] == "PUT")
    #expect(counted.headers["x-echo-x-thing"] == "one")

    let body = "3;extension=1\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n"
    try client.request("/echo", method: "POST", headers: ["Transfer-Encoding: chunked"], body: body)
    #expect(try client.answer().text == "abcde")
  }

  @Test func `Echoes a large body after the interim answer`() throws {
    let headers = ["Content-Length: 3000000", "Expect: 100-continue"]
    try client.request("/echo", method: "POST", headers: headers)
    #expect(try client.answer().status == 100)
    try client.send([UInt8](repeating: 7, count: 3_000_000))
    #expect(try client.answer().body == [UInt8](repeating: 7, count: 3_000_000))
  }

  @Test func `Answers early, without the body`() async throws {
    try client.request("/early", method: "POST", headers: ["Content-Length: 100000000"])
    let answer = try client.answer()
    #expect(answer.status == 413)
    #expect(answer.headers["connection"] == "close")
    #expect(try client.remainder().isEmpty)
    client.disconnect()
    #expect(await origin.waitUntil({ $0.served == 1 && $0.sockets == 0 }, until: .after(generous)))
  }

  @Test func `The hook takes precedence over the path`() throws {
    origin.setScript(
      OriginScript(
        body: Array("scripted".utf8),
        handler: { request in
          request.header("X-WANTS") == "teapot" ? .text("\(request.method) \(request.path)", status: 418) : nil
        }
      )
    )
    try client.request("/a?b", headers: ["x-wants: teapot"])
    let answer = try client.answer()
    #expect(answer.status == 418)
    #expect(answer.text == "GET /a")
    try client.request("/")
    #expect(try client.answer().text == "scripted")
  }

  @Test func `The script's delay is added to the answer's`() throws {
    origin.setScript(OriginScript(delay: .milliseconds(30)))
    let start = Deadline.now
    try client.request("/delay/30")
    _ = try client.answer()
    #expect(Deadline.now - start >= .milliseconds(60))
  }
}
