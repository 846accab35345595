import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// A folder, and downloads to a file in it that can be continued.
struct ResumingTrial {
  let folder: DownloadFolder
  let bench: Bench
  let body = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 3) }

  init(_ capabilities: TransportCapabilities = .encodedBodies) throws {
    folder = try DownloadFolder()
    bench = try Bench(transport: ScriptedTransport(capabilities: capabilities))
  }

  var destination: FileDestination { .resuming(folder.path + "/a") }

  func request(attempts: Int = 1) throws -> DispatchRequest {
    var request = try bench.request("/file")
    request.retry = RetryPolicy(attempts: attempts, backoff: .none)
    return request
  }

  func download(
    _ request: DispatchRequest? = nil, to destination: FileDestination? = nil
  ) async -> Result<FileResponse, DispatchError> {
    guard let request = try? request ?? self.request() else { return .failure(DispatchError(.invalidURL)) }
    do throws(DispatchError) {
      return .success(try await bench.dispatcher.download(for: request, to: destination ?? self.destination))
    } catch { return .failure(error) }
  }

  /// The exchange of the next request, which must ask for the rest from an offset, or for everything.
  func next(from offset: Int?, _ tag: String = "\"1\"") async throws -> ScriptedExchange {
    let exchange = try await bench.transport.next()
    #expect(exchange.request.headerFields[.range] == offset.map { "bytes=\($0)-" })
    #expect(exchange.request.headerFields[.ifRange] == offset.map { _ in tag })
    return exchange
  }

  /// Leaves a part with the beginning of the body.
  func leavePart(_ size: Int = 300_000, fields: HTTPFields = [.eTag: "\"1\""]) async throws {
    async let cut = download()
    let exchange = try await next(from: nil)
    exchange.head(200, fields)
    exchange.body(Array(body[..<size]))
    exchange.end(DispatchError(.connectionLost, phase: .receiving))
    #expect(await cut.code == .connectionLost)
  }

  /// The fields of a part of the body.
  static func part(_ range: Range<Int>, of total: Int = 700_000, tag: String? = "\"1\"") -> HTTPFields {
    var fields: HTTPFields = [.contentRange: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)"]
    fields[.eTag] = tag
    return fields
  }

  func send(_ range: Range<Int>, over exchange: ScriptedExchange) {
    exchange.head(206, Self.part(range))
    exchange.body(Array(body[range]))
    exchange.end()
  }

  /// Nothing is left but the whole file.
  func isWhole(_ name: String = "a") -> Bool { folder.names == [name] && folder.bytes(name) == body }
}
