#if canImport(Glibc)
import Foundation
import Glibc
import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateCurl

/// Servers that lie, break off or send too much.
@Suite struct HostileServerTests {
  private func dispatcher(_ requests: Int = 1) throws -> URLDispatcher {
    URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: requests)))
  }

  /// The result of one request that is answered with given bytes, after which the connection is closed.
  private func outcome(of answer: [UInt8]) async throws -> Result<DispatchResponse, DispatchError> {
    let server = try RawServer { connection in
      if connection.request() != nil { connection.send(answer) }
    }
    defer { server.stop() }
    let dispatcher = try dispatcher()
    let request = try DispatchRequest(server.url())
    let result: Result<DispatchResponse, DispatchError>
    do throws(DispatchError) {
      result = .success(try await dispatcher.data(for: request))
    } catch {
      result = .failure(error)
    }
    await dispatcher.shutDown(.drain)
    return result
  }

  private func outcome(of answer: String) async throws -> Result<DispatchResponse, DispatchError> {
    try await outcome(of: Array(answer.utf8))
  }

  private func code(of answer: String) async throws -> DispatchError.Code? {
    if case .failure(let error) = try await outcome(of: answer) { error.code } else { nil }
  }

  // libcurl 7.83 to 8.0 write into freed memory (see CurlVersion).
  @Test("a head whose first field begins with a space corrupts nothing, over any number of requests")
  func foldedFirst() async throws {
    let server = try RawServer { connection in
      while let request = connection.request() {
        let start = request.contains("/folded") ? " folded: \(String(repeating: "x", count: 300))\r\n" : ""
        connection.send("HTTP/1.1 200 OK\r\n\(start)X-Kind: a\r\nContent-Length: 1\r\n\r\n1")
      }
    }
    let dispatcher = try dispatcher(4)
    for _ in 0..<400 {
      // Its handle serves the next request, and has kept fields of it.
      #expect(try await dispatcher.data(for: DispatchRequest(server.url("/whole"))).text == "1")
      do throws(DispatchError) {
        _ = try await dispatcher.data(for: DispatchRequest(server.url("/folded")))
        Issue.record("such a head is not valid HTTP")
      } catch {
        #expect(error.code == .badResponse)
      }
    }
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  @Test("a folded field has all its lines")
  func folded() async throws {
    let name = try #require(HTTPField.Name("X-Long"))
    let response = try await outcome(
      of: "HTTP/1.1 200 OK\r\nX-Long: one\r\n  two\r\n\tthree\r\nContent-Length: 1\r\n\r\n1"
    ).get()
    #expect(response.headerFields[name] == "one two three")
    #expect(response.headerFields[.contentLength] == "1")
  }

  @Test("trailers are not part of the body")
  func trailers() async throws {
    let name = try #require(HTTPField.Name("X-Sum"))
    let response = try await outcome(
      of: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: one\r\n\r\n"
    ).get()
    #expect(response.text == "a")
    #expect(response.trailers[name] == "one")
  }

  // libcurl passes a line to one callback in pieces of 16 KB, and to the other whole.
  @Test("a first field of many kilobytes may have a space anywhere")
  func longFirstField() async throws {
    let name = try #require(HTTPField.Name("X-Long"))
    let value = String(repeating: "a b ", count: 10_000)
    for start in ["X-Long:  ", "X-Long: "] {
      let response = try await outcome(
        of: "HTTP/1.1 200 OK\r\n\(start)\(value)\r\nContent-Length: 1\r\n\r\n1"
      ).get()
      #expect(response.headerFields[name]?.count == value.count - 1)
      #expect(response.text == "1")
    }
  }

  @Test(
    "an invalid length, or two different ones, is not valid HTTP",
    arguments: [
      "Content-Length: 0x10", "Content-Length: 1\r\nContent-Length: 2", "Content-Length: +1", "Content-Length: 1, 2",
      "Content-Length:", "Content-Length: 99999999999999999999999", "Content-Length: -1", "Content-Length: 1\r\n 2",
    ])
  func lengths(_ fields: String) async throws {
    #expect(try await code(of: "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n1") == .badResponse)
  }

  @Test(
    "a folded length or coding is not valid HTTP, unless libcurl reads it as one line too",
    arguments: ["Content-Length:\r\n 1", "Transfer-Encoding:\r\n chunked"])
  func foldedFraming(_ fields: String) async throws {
    let answer = "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n" + (fields.contains("chunked") ? "1\r\na\r\n0\r\n\r\n" : "a")
    let result = try await outcome(of: answer)
    if CurlVersion.unfoldsLines { #expect(try result.get().text == "a") } else { #expect(code(result) == .badResponse) }
  }

  @Test("a length that is repeated with the same value is valid")
  func lengthTwice() async throws {
    for fields in ["Content-Length: 1\r\ncontent-length: 1", "Content-Length: 1, 1"] {
      #expect(try await outcome(of: "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n1").get().body.count == 1)
    }
  }

  @Test("an invalid chunk size is not valid HTTP, and not a lost connection")
  func chunkSize() async throws {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    let answer = try await outcome(of: head + "xyz\r\nabc\r\n0\r\n\r\n")
    #expect(code(answer) == .badResponse, "\(answer)")
    #expect(try await code(of: head + "5\r\nabc") == .connectionLost)
  }

  /// 10,000 times the letter a, by gzip.
  private static let compressed: [UInt8] = {
    let body = [UInt8](repeating: UInt8(ascii: "a"), count: 10_000)
    var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
    func add(_ number: UInt32, bytes count: Int) {
      for place in 0..<count { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * UInt32(place)))) }
    }
    // Two stored blocks, each with its length and the inverted length; then the checksum and the total length.
    for isLast in [false, true] {
      bytes.append(isLast ? 1 : 0)
      add(5000, bytes: 2)
      add(~5000, bytes: 2)
      bytes += body.prefix(5000)
    }
    add(crc32(of: body), bytes: 4)
    add(UInt32(body.count), bytes: 4)
    return bytes
  }()

  private static func crc32(of bytes: [UInt8]) -> UInt32 {
    var sum = ~UInt32(0)
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0xEDB8_8320 : sum >> 1 }
    }
    return ~sum
  }

  private func gzip(_ body: [UInt8], length: Bool = true) async throws -> Result<DispatchResponse, DispatchError> {
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n" + (length ? "Content-Length: \(body.count)\r\n" : "")
    return try await outcome(of: Array((head + "\r\n").utf8) + body)
  }

  private func code(_ result: Result<DispatchResponse, DispatchError>) -> DispatchError.Code? {
    if case .failure(let error) = result { error.code } else { nil }
  }

  @Test("a compressed body is delivered whole or not at all")
  func truncatedGzip() async throws {
    let whole = Self.compressed
    #expect(try await gzip(whole).get().body.count == 10_000)
    #expect(try await gzip(whole + whole).get().body.count == 20_000)
    #expect(try await gzip([]).get().body.isEmpty)
    #expect(code(try await gzip(Array(whole.prefix(6000)))) == .badResponse)
    #expect(code(try await gzip(Array(whole.dropLast(4)))) == .badResponse)
    // Without a length a body that ends early can't be distinguished from a complete one.
    #expect(code(try await gzip(Array(whole.prefix(6000)), length: false)) == .connectionLost)
    var broken = whole
    broken[5000] ^= 1
    #expect(code(try await gzip(broken)) == .badResponse)
    #expect(code(try await gzip(whole + [1, 2, 3])) == .badResponse)
  }

  @Test("a compressed answer that arrives before the request's body is sent must be complete too")
  func truncatedEarlyAnswer() async throws {
    let part = Array(Self.compressed.prefix(600))
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 600\r\nConnection: close\r\n\r\n"
    let server = try RawServer { connection in
      var bytes = [UInt8](repeating: 0, count: 1000)
      _ = recv(connection.descriptor, &bytes, bytes.count, 0)
      connection.send(Array(head.utf8) + part)
      connection.waitForEnd()
    }
    let dispatcher = try dispatcher()
    var request = try DispatchRequest(
      server.url(), method: .put, body: RequestBody([UInt8](repeating: 1, count: 8 << 20)))
    request.expectsContinue = false
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      Issue.record("it is only a part")
    } catch {
      #expect(error.code == .badResponse)
    }
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  @Test(
    "C05 a body in an encoding that was not requested is delivered as it is",
    arguments: ["br", "utf-8", "gzip, identity", "aws-chunked,gzip", "gzip\r\nContent-Encoding: gzip"])
  func otherEncoding(_ coding: String) async throws {
    let response = try await outcome(
      of: "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: 3\r\n\r\nabc"
    ).get()
    #expect(response.text == "abc" && response.headerFields.contains(.contentEncoding))
  }

  @Test("an unrequested response is not that of the next request")
  func unsolicited() async throws {
    let sent = Gate()
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst")
      guard connection.number == 0 else { return }
      // After the exchange, while the connection is idle.
      usleep(50_000)
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nplanted")
      connection.waitForEnd()
      sent.open()
    }
    let dispatcher = try dispatcher()
    let first = try await dispatcher.data(for: DispatchRequest(server.url()))
    // The test waits until the client closes the connection by itself.
    try await sent.wait()
    let second = try await dispatcher.data(for: DispatchRequest(server.url()))
    #expect((first.text, second.text) == ("first", "first"))
    #expect(server.accepted == 2)
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  @Test("an unrequested response is not that of the next request either if that waits for the first to end")
  func unsolicitedBeforeQueued() async throws {
    let planted = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nplanted"
    // After libcurl's first read of 16 KB, which the first answer fills.
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Fill: "
    let tail = "\r\n\r\n5\r\nfirst\r\n0\r\n\r\n"
    let filled = head + String(repeating: "a", count: 16384 - head.utf8.count - tail.utf8.count) + tail
    let server = try RawServer { connection in
      while connection.request() != nil { connection.send(filled + planted) }
    }
    let dispatcher = try dispatcher()
    let url = server.url()
    let texts = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<60 { group.addTask { try? await dispatcher.data(for: url).text } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(texts.allSatisfy { $0 == "first" })
    // Nothing was sent where the planted response was found, so each request has its own connection.
    #expect(server.accepted == 60)
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  @Test(
    "an unrequested transfer coding, and a length beside chunks, are not valid HTTP",
    arguments: [
      "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: gzip",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
      "Transfer-Encoding: chunked\r\nContent-Length: 1", "Content-Length: 1\r\nTransfer-Encoding: chunked",
    ])
  func codings(_ fields: String) async throws {
    #expect(try await code(of: "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n1\r\na\r\n0\r\n\r\n") == .badResponse)
  }

  @Test("an endless head is too large: interim responses, blank lines", arguments: [true, false])
  func endlessHead(isInterim: Bool) async throws {
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      if !isInterim { connection.send("HTTP/1.1 200 OK\r\nX-A: b\r\n") }
      let piece = isInterim ? "HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n" : " \r\n"
      while connection.send(String(repeating: piece, count: 500)) {}
    }
    let dispatcher = try dispatcher()
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: DispatchRequest(server.url()))
      Issue.record("it has no end")
    } catch {
      let detail = error.detail
      #expect(error.code == .headTooLarge && (detail.hasSuffix(" bytes") || detail.hasSuffix(" lines")), "\(error)")
    }
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  @Test("the error for a long line of a head says how long a line may be")
  func longHeadLine() async throws {
    let line = "X-A: " + String(repeating: "b", count: 200_000)
    guard case .failure(let error) = try await outcome(of: Array("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n".utf8)) else {
      Issue.record("it is too long")
      return
    }
    #expect(error.code == .headTooLarge && error.detail == "a line has more than 102400 bytes", "\(error)")
  }

  @Test("a method with a body declares an empty one", arguments: ["POST", "PUT", "PATCH"])
  func emptyBody(_ method: String) async throws {
    let seen = LockedBox("")
    let server = try RawServer { connection in
      seen.withLock { $0 = connection.request() ?? "" }
      connection.send("HTTP/1.1 204 No Content\r\n\r\n")
    }
    let dispatcher = try dispatcher()
    let method = try #require(HTTPRequest.Method(method))
    _ = try await dispatcher.data(for: DispatchRequest(server.url(), method: method))
    #expect(seen.withLock { $0 }.contains("\r\nContent-Length: 0\r\n"))
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  @Test("C06 bytes that wait in the socket at the idle limit count: the program stood still, and not the server")
  func stopped() async throws {
    let (arrived, goes, sent, clock) = (Gate(), Gate(), Gate(), ManualClock())
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      arrived.open()
      _ = goes.wait(until: .after(.seconds(60)))
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
      sent.open()
      connection.waitForEnd()
    }
    let dispatcher = URLDispatcher(transport: try CurlTransport(), timers: clock)
    var request = try DispatchRequest(server.url())
    (request.timeout, request.idleTimeout) = (nil, .seconds(1))
    let response = Task { [request] in try await dispatcher.data(for: request).text }
    try await arrived.wait()
    try await clock.timers(1)
    let (stands, moves) = (Gate(), Gate())
    let still = Task(executorPreference: dispatcher.taskExecutor) { Self.standStill(stands, until: moves) }
    try await stands.wait()
    goes.open()
    try await sent.wait()
    clock.advance(by: .seconds(5))
    moves.open()
    #expect(try await response.value == "a")
    await still.value
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  /// Keeps the transport's thread from its sockets.
  private static func standStill(_ stands: Gate, until moves: Gate) {
    stands.open()
    _ = moves.wait(until: .after(.seconds(60)))
  }

  @Test("each part of a head counts as a sign of life, and so do interim responses")
  func slowHead() async throws {
    let (arrived, over, clock) = (Gate(), Gate(), ManualClock())
    let client = LockedBox<RawServer.Connection?>(nil)
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      client.withLock { $0 = connection }
      arrived.open()
      _ = over.wait(until: .after(.seconds(60)))
    }
    let dispatcher = URLDispatcher(transport: try CurlTransport(), timers: clock)
    var request = try DispatchRequest(server.url())
    (request.timeout, request.idleTimeout) = (nil, .milliseconds(900))
    let response = Task { [request] in try await dispatcher.data(for: request).statusCode }
    try await arrived.wait()
    try await clock.timers(1)
    let connection = try #require(client.withLock { $0 })
    let parts = [
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 2", "00 OK\r\n", "X-A: a\r\n", "X", "-B", ":", "b\r",
    ]
    for piece in parts {
      connection.send(piece)
      // The transport's thread looks at its sockets between two jobs, so it has read the piece after the second.
      await Task(executorPreference: dispatcher.taskExecutor) { await Task.yield() }.value
      clock.advance(by: .milliseconds(600))
    }
    connection.send("\nContent-Length: 0\r\n\r\n")
    #expect(try await response.value == 200)
    over.open()
    await dispatcher.shutDown(.drain)
    server.stop()
  }

  @Test("a client name with a line break is refused, and adds no field to requests")
  func userAgent() throws {
    var configuration = CurlTransport.Configuration()
    configuration.userAgent = "a\r\nX-Planted: yes"
    #expect(throws: DispatchError.self) { try CurlTransport(configuration: configuration) }
  }
}
#endif
