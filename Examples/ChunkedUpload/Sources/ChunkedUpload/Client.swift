import Headgate
import HeadgateFlow
import HeadgateOrigin

/// The server answered with a status other than 200.
struct Refused: Error {
  let status: Int
}

/// The calls that this example makes to the server.
struct Client: Sendable {
  let dispatcher: URLDispatcher
  let server: Origin

  /// Gets a path. Any status other than 200 is an error.
  @discardableResult
  func get(_ path: String) async throws -> String {
    let response = try await dispatcher.data(for: server.url(path))
    guard response.statusCode == 200 else { throw Refused(status: response.statusCode) }
    return response.text
  }

  /// Posts a piece of a file.
  func post(_ chunk: Chunk) async throws {
    let request = try DispatchRequest(
      server.url("/echo?offset=\(chunk.offset)"), method: .post, body: RequestBody(chunk.bytes))
    let response = try await dispatcher.data(for: request)
    guard response.statusCode == 200 else { throw Refused(status: response.statusCode) }
  }
}
