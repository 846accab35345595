import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// The part of docs/requests.md on bodies that are sent shows no code but this.
@Suite struct RequestsUploadTests {
  private final class Meter: Sendable {
    private let parts = Locked<[Double]>([])
    var last: Double? { parts.withLock { $0.last } }
    func add(_ part: Double) { parts.withLock { $0.append(part) } }
  }

  private struct Pieces: AsyncSequence, Sendable {
    struct AsyncIterator: AsyncIteratorProtocol {
      var left = 2
      mutating func next() async -> [UInt8]? {
        left -= 1
        return left >= 0 ? [1, 2, 3] : nil
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
  }

  private let server: Origin
  private let dispatcher: URLDispatcher

  init() throws {
    server = try Origin()
    dispatcher = URLDispatcher(transport: try CurlTransport())
  }

  @Test("a file is sent, with progress")
  func file() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.sparseFile(of: 3_000_000)
    let meter = Meter()
    var request = try DispatchRequest(server.url("/sink"), method: .put)
    request.body = RequestBody(file: path)
    request.onUploadProgress = { progress in meter.add(progress.fraction ?? 0) }
    let response = try await dispatcher.data(for: request)
    #expect(response.text == "3000000")
    #expect(meter.last == 1)
    await dispatcher.shutDown()
  }

  @Test("all kinds of bodies")
  func kinds() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.sparseFile(of: 3000)
    let (bytes, pieces) = ([1, 2, 3, 4] as [UInt8], Pieces())
    // The two boundaries, and the head of the part.
    let name = path.split(separator: "/").last ?? ""
    let head = "Content-Disposition: form-data; name=\"file\"; filename=\"\(name)\"\r\n"
    let form =
      2 * "\r\n--headgate-012345678901234567890123\r\n".utf8.count + head.utf8.count
      + "Content-Type: application/octet-stream\r\n\r\n".utf8.count
    let bodies = [
      (RequestBody(bytes), 4),
      (RequestBody("text"), 4),
      (RequestBody(file: path), 3000),
      (RequestBody(file: path, range: 0..<1000), 1000),
      (RequestBody(multipart: [BodyPart("file", file: path)]), 3000 + form),
      (RequestBody(pieces), 6),
      (RequestBody(pieces, length: 6), 6),
      (RequestBody(length: 6, replayable: { Pieces() }), 6),
    ]
    for (body, count) in bodies {
      let request = try DispatchRequest(server.url("/sink"), method: .put, body: body)
      #expect(try await dispatcher.data(for: request).text == "\(count)")
    }
    await dispatcher.shutDown()
  }

  @Test("a response's body is forwarded as it arrives")
  func passedOn() async throws {
    let incoming = try await dispatcher.stream(for: DispatchRequest(server.url("/bytes/2000000")))
    var request = try DispatchRequest(server.url("/sink"), method: .put)
    request.body = RequestBody(incoming.body)
    request.expectsContinue = false
    #expect(try await dispatcher.data(for: request).text == "2000000")
    await dispatcher.shutDown()
  }

  @Test("in chunks, and resumed where they stopped")
  func chunks() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.sparseFile(of: 250_000)
    let (server, dispatcher) = (server, dispatcher)
    server.setScript(
      OriginScript { request in
        request.header("Content-Range")?.hasPrefix("bytes 200000-") == true ? .text("no room", status: 507) : nil
      })
    var reached: Int64 = 0
    let template = try DispatchRequest(server.url("/sink"), method: .put)
    do throws(ChunkUploadError) {
      try await dispatcher.uploadChunks(ofFile: path, for: template, size: 100_000, from: reached)
    } catch {
      reached = error.offset
    }
    #expect(reached == 200_000)
    server.setScript(OriginScript())
    try await dispatcher.uploadChunks(ofFile: path, for: template, size: 100_000, from: reached)
    #expect(server.counts().received == 4)
    await dispatcher.shutDown()
  }

  @Test("the page shows only code that is compiled here")
  func document() throws {
    let shown = try DocumentedCode("requests.md", under: "Bodies that are sent")
    #expect(try shown.lines(missingIn: #filePath) == [])
    let code = try DocumentedCode.code(of: #filePath)
    let bodies = shown.spans.filter { $0.hasPrefix("RequestBody(") }
    for body in bodies { #expect(code.contains { $0.contains(body) }, "no test has the code \(body)") }
    #expect(shown.lines.count + bodies.count > 15)
  }
}
