import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// A file sent with one request per chunk.
@Suite struct UploadChunksTests {
  private let file: BodyFileFixture
  private let all = (0..<250_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  init() throws { file = try BodyFileFixture(all) }

  private func sending(
    _ bench: Bench, _ request: DispatchRequest, size: Int64 = 100_000, from offset: Int64 = 0,
    makeRequest: (@Sendable (DispatchRequest, UploadChunk) throws -> DispatchRequest)? = nil,
    told: Outcomes<TransferProgress> = Outcomes()
  ) -> Task<Result<Int64, ChunkUploadError>, Never> {
    let (dispatcher, path) = (bench.dispatcher, file.path)
    return Task {
      do throws(ChunkUploadError) {
        return .success(
          try await dispatcher.uploadChunks(
            ofFile: path, for: request, size: size, from: offset, onProgress: { told.add($0) }, makeRequest: makeRequest
          )
        )
      } catch {
        return .failure(error)
      }
    }
  }

  private func failure(_ result: Result<Int64, ChunkUploadError>) -> ChunkUploadError? {
    if case .failure(let error) = result { error } else { nil }
  }

  @Test("each chunk is a request with its range, and the whole arrives in order; progress is that of the file")
  func chunks() async throws {
    let bench = try Bench()
    let told = Outcomes<TransferProgress>()
    let task = sending(bench, try bench.request("/up"), told: told)
    var arrived: [UInt8] = []
    for range in ["bytes 0-99999/250000", "bytes 100000-199999/250000", "bytes 200000-249999/250000"] {
      let exchange = try await bench.transport.next()
      #expect(exchange.request.method == .put)
      #expect(exchange.request.headerFields[.contentRange] == range)
      arrived += try await exchange.restOfBody() ?? []
      #expect(bench.counts.running == 1)
      exchange.respond(204)
    }
    #expect(try await task.value.get() == 250_000)
    #expect(arrived == all)
    let sent = told.values.map(\.bytes)
    #expect(sent == sent.sorted())
    #expect(told.values.allSatisfy { $0.total == 250_000 })
    #expect(sent.last == 250_000)
    #expect(bench.isClean())
  }

  @Test("the permit is returned between chunks: the next waiter goes first, and the priority stays")
  func permits() async throws {
    let bench = try Bench(requests: 1)
    var template = try bench.request("/up")
    template.priority = .low
    let task = sending(bench, template)
    let first = try await bench.transport.next()
    let responses = Responses()
    bench.send(try bench.request("/other"), into: responses)
    first.respond()
    let second = try await bench.transport.next()
    #expect(second.request.url.hasSuffix("/other"))
    second.respond()
    for _ in 0..<2 {
      let exchange = try await bench.transport.next()
      #expect(exchange.request.priority == .low)
      exchange.respond()
    }
    #expect(try await task.value.get() == 250_000)
    #expect(bench.isClean())
  }

  @Test("the first failure ends the upload with its offset, from where it can continue", arguments: [507, 0])
  func resume(_ status: Int) async throws {
    let bench = try Bench()
    let task = sending(bench, try bench.request("/up"))
    try await bench.transport.next().respond()
    let second = try await bench.transport.next()
    if status > 0 { second.respond(status, body: "no room") } else { second.end(DispatchError(.connectionLost)) }
    let error = failure(await task.value)
    #expect(error?.offset == 100_000)
    #expect(error?.code == (status > 0 ? .notAccepted : .requestFailed))
    #expect(error?.response?.text == (status > 0 ? "no room" : nil))
    #expect((error?.underlyingError as? DispatchError)?.code == (status > 0 ? nil : .connectionLost))
    #expect(error?.description.contains("from: 100000") == true)
    #expect(bench.transport.takeStarted() == nil)
    let rest = sending(bench, try bench.request("/up"), from: error?.offset ?? 0)
    for range in ["bytes 100000-199999/250000", "bytes 200000-249999/250000"] {
      let exchange = try await bench.transport.next()
      #expect(exchange.request.headerFields[.contentRange] == range)
      exchange.respond()
    }
    #expect(try await rest.value.get() == 250_000)
    #expect(bench.isClean())
  }

  @Test("a 308 without a location means that the chunk was accepted; with one it is a redirect")
  func resumeIncomplete() async throws {
    let bench = try Bench()
    let task = sending(bench, try bench.request("/up"), size: 200_000)
    try await bench.transport.next().respond(308)
    try await bench.transport.next().respond(308, [.location: "/elsewhere"])
    let last = try await bench.transport.next()
    #expect(last.request.url.hasSuffix("/elsewhere"))
    #expect(try await last.restOfBody()?.count == 50_000)
    last.respond()
    #expect(try await task.value.get() == 250_000)
  }

  @Test("the request can be customized, and an error while making it ends the upload")
  func ownRequests() async throws {
    let bench = try Bench()
    let task = sending(bench, try bench.request("/up"), size: 200_000) { request, chunk in
      guard !chunk.isLast else { throw SourceBroke(number: 1) }
      var request = try DispatchRequest("http://a/up?part=\(chunk.range.lowerBound)", body: request.body)
      request.method = .post
      return request
    }
    let first = try await bench.transport.next()
    #expect((first.request.url, first.request.method) == ("http://a/up?part=0", .post))
    #expect(try await first.restOfBody()?.count == 200_000)
    first.respond()
    let error = failure(await task.value)
    #expect((error?.code, error?.offset) == (.requestNotMade, 200_000))
    #expect(error?.underlyingError as? SourceBroke == SourceBroke(number: 1))
  }

  @Test("a cancellation, a file that is gone or shrinks, arguments out of range: each its own error with the offset")
  func faults() async throws {
    let bench = try Bench()
    let request = try bench.request("/up")
    for (size, offset) in [(0, 0), (-1, 0), (10, -1), (10, 250_001)] as [(Int64, Int64)] {
      #expect(failure(await sending(bench, request, size: size, from: offset).value)?.code == .invalidArgument)
    }
    #expect(try await sending(bench, request, from: 250_000).value.get() == 250_000)

    let cancelled = sending(bench, request)
    try await bench.transport.next().respond()
    _ = try await bench.transport.next()
    cancelled.cancel()
    let error = failure(await cancelled.value)
    #expect((error?.code, error?.offset) == (.cancelled, 100_000))

    let shrinking = sending(bench, request)
    let first = try await bench.transport.next()
    try file.change(to: [1, 2, 3])
    first.respond()
    let shrank = failure(await shrinking.value)
    #expect((shrank?.code, shrank?.offset) == (.fileFailed, 100_000))
    #expect((shrank?.underlyingError as? RequestBodyError)?.path == file.path)

    let dispatcher = bench.dispatcher
    do throws(ChunkUploadError) {
      try await dispatcher.uploadChunks(ofFile: file.path + ".missing", for: request)
      Issue.record("a missing file was sent")
    } catch {
      #expect((error.code, error.offset) == (.fileFailed, 0))
    }
    // The thread that opened the file of the cancelled chunk may still be at the start of its exchange.
    await dispatcher.shutDown()
    #expect(bench.isClean())
  }
}
