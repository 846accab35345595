import HeadgateOrigin
import HeadgateThreads
import Testing

@Suite struct OriginConnectionTests {
  let origin: Origin
  let client: RawClient

  init() throws {
    origin = try Origin()
    client = try RawClient(port: origin.port)
  }

  @Test func `Keeps the connection for later requests`() throws {
    for index in 0..<100 {
      try client.request("/bytes/\(index)")
      #expect(try client.answer().body.count == index)
    }
    #expect(origin.counts().accepted == 1)
    #expect(origin.counts().received == 100)
  }

  @Test func `Answers pipelined requests in their order, one at a time`() async throws {
    try client.send(
      (0..<200).map { "GET /bytes/\($0)\($0 % 50 == 0 ? "?delay=5" : "") HTTP/1.1\r\nHost: a\r\n\r\n" }.joined()
    )
    for index in 0..<200 { #expect(try client.answer().body.count == index) }
    #expect(await origin.waitUntil({ $0.served == 200 }, until: .after(generous)))
    #expect(origin.counts().peakRequests == 1)
  }

  @Test func `Reads a request that arrives byte by byte`() throws {
    for byte in "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc".utf8 { try client.send([byte]) }
    #expect(try client.answer().text == "abc")
  }

  @Test func `HEAD gets only the head`() throws {
    for path in ["/bytes/10", "/stream", "/gzip", "/trickle"] {
      try client.request(path, method: "HEAD")
      #expect(try client.answer(hasBody: false).status == 200)
    }
    try client.request("/bytes/10", method: "HEAD")
    #expect(try client.answer(hasBody: false).headers["content-length"] == "10")
    try client.request("/")
    #expect(try client.answer().text == "ok\n")
  }

  @Test(arguments: ["204", "304"]) func `Some statuses have no body`(status: String) throws {
    try client.request("/status/\(status)")
    #expect(try client.answer(hasBody: false).statusLine.contains(status))
    try client.request("/")
    #expect(try client.answer().text == "ok\n")
  }

  @Test(arguments: [
    "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n",
    "GET /close HTTP/1.1\r\nHost: a\r\n\r\n",
  ])
  func `Closes after the answer on request`(request: String) async throws {
    let start = Deadline.now
    try client.send(request)
    let answer = try client.answer()
    #expect(answer.text == "ok\n")
    #expect(answer.headers["connection"] == "close")
    #expect(try client.remainder().isEmpty)
    // The socket counts until the client has closed it too. The origin waits five seconds for that.
    let counts = origin.counts()
    if Deadline.now - start < .seconds(5) { #expect(counts.sockets == 1) }
    client.disconnect()
    #expect(await origin.waitUntil({ $0.sockets == 0 && $0.served == 1 }, until: .after(generous)))
  }

  @Test(arguments: [
    "nonsense\r\n\r\n", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
    "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
  ])
  func `Refuses a malformed request and closes`(request: String) throws {
    try client.send(request)
    let answer = try client.answer()
    #expect(answer.status == 400)
    #expect(answer.headers["connection"] == "close")
    #expect(try client.remainder().isEmpty)
  }

  @Test func `Refuses an endless head`() throws {
    try client.send("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 66_000))
    #expect(try client.answer().status == 431)
  }

  @Test func `Holds requests until the release, and also later ones`() async throws {
    try client.request("/hold")
    #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(generous)))
    origin.release()
    #expect(try client.answer().text == "released\n")

    try client.request("/hold")
    #expect(await origin.waitUntil({ $0.received == 2 }, until: .after(generous)))
    client.disconnect()
    #expect(await origin.waitUntil({ $0.aborted == 1 && $0.served == 1 }, until: .after(generous)))
  }

  @Test func `A counted request is released, however soon the call follows`() async throws {
    // The hook runs after a request is counted and before it is held.
    origin.setScript(
      OriginScript(handler: { [weak origin] _ in
        origin?.release()
        return nil
      }))
    try client.request("/hold")
    #expect(try client.answer().text == "released\n")
  }

  @Test func `A request that is released during its delay is not held afterwards`() async throws {
    try client.request("/hold?delay=20")
    #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(generous)))
    origin.release()
    #expect(try client.answer().text == "released\n")
  }

  @Test func `A request that arrives after the release is held`() async throws {
    for round in 1...200 {
      origin.release()
      let client = try RawClient(port: origin.port)
      try client.request("/hold")
      #expect(await origin.waitUntil({ $0.received == round }, until: .after(generous)))
      client.disconnect()
      #expect(await origin.waitUntil({ $0.requests == 0 }, until: .after(generous)))
    }
    #expect(origin.counts().aborted == 200)
  }

  @Test func `Cuts off a client that sends far ahead of its answers`() async throws {
    try client.request("/hold")
    // The send may fail or not, depending on when the reset arrives.
    try? client.send([UInt8](repeating: 0x20, count: 4 << 20))
    #expect(await origin.waitUntil({ $0.sockets == 0 && $0.accepted == 1 }, until: .after(generous)))
  }
}

extension RawAnswer {
  /// The bytes of the head, with the line ends.
  var headSize: Int { headLines.reduce(2) { $0 + $1.utf8.count + 2 } }
}
