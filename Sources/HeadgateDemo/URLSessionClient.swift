import Foundation
import HeadgateCommand

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The workload over the platform's own client, with the same limit. Its timeout includes the time in its internal
/// queue, so a request may time out without being sent.
enum URLSessionClient {
  static let inDemo = DemoClient(
    name: "URLSession",
    explanation: "It has the limit, but its timeout includes the time in its queue: most requests are never sent.",
    run: run)

  private static func run(_ workload: DemoWorkload) async -> DemoOutcome {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = DemoWorkload.limit
    configuration.timeoutIntervalForRequest = DemoWorkload.timeout / .seconds(1)
    let session = URLSession(configuration: configuration)
    let outcome = await withTaskGroup { group in
      for url in workload.streams + workload.short {
        group.addTask { await error(of: url, session) }
      }
      return await group.reduce(into: DemoOutcome()) { $0.add($1) }
    }
    session.invalidateAndCancel()
    return outcome
  }

  private static func error(of url: String, _ session: URLSession) async -> (any Error)? {
    guard let url = URL(string: url) else { return URLError(.badURL) }
    return await withCheckedContinuation { continuation in
      session.dataTask(with: url) { _, _, error in continuation.resume(returning: error) }.resume()
    }
  }
}

extension DemoOutcome {
  fileprivate mutating func add(_ error: (any Error)?) {
    guard let error else { return succeeded += 1 }
    if (error as? URLError)?.code == .timedOut { timedOut += 1 } else { failed += 1 }
  }
}
