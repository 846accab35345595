import HTTPTypes
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import HeadgateURLSession
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// Request bodies over every transport, as seen by the origin.
@Suite struct UploadContractTests {
  private struct Broken: Error, Equatable {}

  private let origin: Origin

  init() throws { origin = try Origin(endPoints: 2) }

  private func dispatcher(_ trial: TransportOnTrial) throws -> URLDispatcher {
    URLDispatcher(transport: try trial.make(), limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
  }

  private func request(_ path: String, _ body: RequestBody) throws -> DispatchRequest {
    var request = try DispatchRequest(origin.url(path), method: .put, body: body)
    request.timeout = .seconds(60)
    return request
  }

  private func failure(_ dispatcher: URLDispatcher, _ request: DispatchRequest) async -> DispatchError? {
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      return nil
    } catch {
      return error
    }
  }

  private func withFile<Value>(_ bytes: [UInt8], _ body: (String) async throws -> Value) async throws -> Value {
    let path = FileManager.default.temporaryDirectory.appending(path: "headgate-\(UUID().uuidString)").path
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try await body(path)
  }

  /// Pieces of these bytes.
  private func pieces(_ bytes: [UInt8], of size: Int = 30_000) -> AsyncStream<ArraySlice<UInt8>> {
    AsyncStream { continuation in
      var start = 0
      while start < bytes.count {
        continuation.yield(bytes[start..<min(start + size, bytes.count)])
        start += size
      }
      continuation.finish()
    }
  }

  @Test(
    "memory, a file, a range of it, a sequence with and without a length arrive whole", arguments: TransportOnTrial.all)
  func whole(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let all = (0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try await withFile(all) { path in
      let bodies: [(RequestBody, [UInt8])] = [
        (RequestBody(all), all), (RequestBody(Array(all[..<100])), Array(all[..<100])), (RequestBody([]), []),
        (RequestBody(file: path), all), (RequestBody(file: path, range: 1_000_000..<1_000_001), [all[1_000_000]]),
        (RequestBody(file: path, range: 10..<2_000_000), Array(all[10..<2_000_000])),
        (RequestBody(file: path, range: 5..<5), []), (RequestBody(pieces(all)), all),
        (RequestBody(pieces(all), length: 2_500_000), all), (RequestBody(pieces([])), []),
      ]
      for (number, (body, expected)) in bodies.enumerated() {
        let response = try await dispatcher.data(for: request("/echo", body))
        #expect(response.statusCode == 200)
        #expect(response.body == expected, "body \(number)")
      }
    }
    await dispatcher.shutDown()
  }

  @Test("progress rises to the total", arguments: TransportOnTrial.all)
  func progress(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let told = LockedBox<[TransferProgress]>([])
    let size = 3_000_000
    for body in [
      RequestBody([UInt8](repeating: 1, count: size)), RequestBody(pieces([UInt8](repeating: 1, count: size))),
    ] {
      told.withLock { $0 = [] }
      var request = try request("/sink", body)
      request.onUploadProgress = { progress in told.withLock { $0.append(progress) } }
      #expect(try await dispatcher.data(for: request).text == "\(size)")
      let sent = told.withLock { $0 }.map(\.bytes)
      #expect(sent == sent.sorted())
      #expect(sent.last == Int64(size))
      #expect(sent.count < 60)
    }
    await dispatcher.shutDown()
  }

  @Test("a body that can't be provided fails the request, and the permit moves on", arguments: TransportOnTrial.all)
  func faults(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let broken = AsyncThrowingStream<[UInt8], any Error> { continuation in
      continuation.yield([UInt8](repeating: 1, count: 300_000))
      continuation.finish(throwing: Broken())
    }
    let missing = await failure(dispatcher, try request("/sink", RequestBody(file: "/nonexistent/file")))
    #expect(missing?.code == .bodyFailed)
    #expect(missing?.description.contains("/nonexistent/file") == true)
    let thrown = await failure(dispatcher, try request("/sink", RequestBody(broken)))
    #expect(thrown?.code == .bodyFailed)
    #expect(thrown?.underlyingError is Broken)
    for (length, code) in [(999, .tooLong), (1001, .tooShort)] as [(Int64, RequestBodyError.Code)] {
      let error = await failure(
        dispatcher,
        try request("/sink", RequestBody(pieces([UInt8](repeating: 1, count: 1000), of: 10), length: length)))
      #expect(error?.code == .bodyFailed)
      #expect((error?.underlyingError as? RequestBodyError)?.code == code)
    }
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    // The started request was broken off, so the origin never saw a whole one.
    #expect(await origin.waitUntil({ $0.requests == 0 && $0.served == 1 }, until: .after(.seconds(60))))
    await dispatcher.shutDown()
  }

  @Test(
    "D05 an answer before the body was sent is delivered whole, and its permit moves on",
    arguments: TransportOnTrial.all
  )
  func early(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    for after in [0, 100_000] {
      let response = try await dispatcher.data(
        for: request("/early?after=\(after)", RequestBody([UInt8](repeating: 1, count: 20_000_000))))
      #expect(response.statusCode == 413)
      #expect(response.text == "too large\n")
      #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    }
    #expect(origin.counts().bodyBytes < 20_000_000)
    await dispatcher.shutDown()
  }

  @Test("a compressed answer before the body was sent is inflated, and nothing else", arguments: TransportOnTrial.all)
  func earlyCompressed(_ trial: TransportOnTrial) async throws {
    // Compressed, they are longer.
    origin.setScript(OriginScript { _ in .gzipZeros(count: 10).early(after: 1000) })
    let dispatcher = try dispatcher(trial)
    let response = try await dispatcher.data(for: request("/", RequestBody([UInt8](repeating: 1, count: 20_000_000))))
    #expect(response.body == Array(repeating: 0, count: 10))
    await dispatcher.shutDown()
  }

  @Test("a corrupt answer before the body was sent is not whole", arguments: TransportOnTrial.all)
  func earlyCorrupt(_ trial: TransportOnTrial) async throws {
    origin.setScript(
      OriginScript { _ in
        // The head of a gzip stream, a stored block of ten bytes, and a block of a type that does not exist.
        let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0, 10, 0, 0xF5, 0xFF]
        var answer = OriginAnswer.bytes(head + [UInt8](repeating: 1, count: 10) + [0xFF])
        answer.headers = [OriginHeader("Content-Encoding", "gzip")]
        return answer.early(after: 1000)
      })
    let dispatcher = try dispatcher(trial)
    let error = await failure(dispatcher, try request("/", RequestBody([UInt8](repeating: 1, count: 20_000_000))))
    #expect(error != nil)
    await dispatcher.shutDown()
  }

  @Test("D82 a 307 before the body was sent resends it to the target, whole", arguments: TransportOnTrial.all)
  func earlyRedirect(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let target = origin.url("/sink", endPoint: 1)
    try await withFile([UInt8](repeating: 1, count: 5_000_000)) { path in
      for body in [RequestBody(file: path), RequestBody([UInt8](repeating: 1, count: 5_000_000))] {
        let response = try await dispatcher.data(for: request("/early?after=1000&status=307&to=\(target)", body))
        #expect(response.url == target)
        #expect(response.text == "5000000")
      }
    }
    await dispatcher.shutDown()
  }

  @Test("a cancellation in the middle closes the connection, and the permit moves on", arguments: TransportOnTrial.all)
  func cancel(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let held = try request("/sink?pause=100000", RequestBody([UInt8](repeating: 1, count: 30_000_000)))
    let task = Task { await failure(dispatcher, held) }
    #expect(await origin.waitUntil({ $0.bodyBytes >= 100_000 }, until: .after(.seconds(60))))
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    // The data that the system has accepted precedes the end.
    origin.release()
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    #expect(await origin.waitUntil({ $0.requests == 0 && $0.aborted == 1 }, until: .after(.seconds(60))))
    await dispatcher.shutDown()
  }

  @Test("URLSession buffers up to its cap and reports an excess")
  func cap() async throws {
    let dispatcher = URLDispatcher(transport: URLSessionTransport())
    let most = URLSessionTransport.maxBufferedBodyBytes
    let endless = AsyncStream<[UInt8]> { [UInt8](repeating: 1, count: 1 << 20) }
    try await withFile([1]) { path in
      #expect(truncate(path, off_t(most + 1)) == 0)
      for body in [RequestBody(file: path), RequestBody(endless)] {
        let error = await failure(dispatcher, try request("/sink", body))
        #expect(error?.code == .unsupported)
        #expect(error?.description.contains("at most \(most) bytes") == true)
      }
    }
    #expect(origin.counts().received == 0)
    await dispatcher.shutDown()
  }
}
