import Foundation
import Measure

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Plain URLSession, limited to a number of connections: further requests, including streams, wait in its own queue.
final class BareClient: Sendable {
  private let session: URLSession

  init(connections: Int) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = connections
    session = URLSession(configuration: configuration)
  }

  func get(_ url: String) async throws {
    guard let url = URL(string: url) else { complain("no URL: \(url)") }
    let (_, response) = try await session.data(from: url)
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { complain("no 200") }
  }

  func end() { session.finishTasksAndInvalidate() }
}
