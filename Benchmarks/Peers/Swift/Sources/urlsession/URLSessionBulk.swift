// Foundation's URLSession: one worker per connection, each making its share of the requests, one after another. No
// cache and no cookies, so that each request reaches the server.
import Foundation
import Measure

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@main
struct URLSessionBulk {
  static func main() async {
    let arguments = BulkArguments()
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = arguments.connections
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    let session = URLSession(configuration: configuration)
    _ = await run(warmUpRequests, arguments, session)
    let meter = Meter()
    let errors = await run(arguments.requests, arguments, session)
    meter.report(client: "urlsession", count: ("requests", arguments.requests), errors: errors)
    session.invalidateAndCancel()
  }

  /// Makes the requests and returns the number of failures.
  static func run(_ requests: Int, _ arguments: BulkArguments, _ session: URLSession) async -> Int {
    await withTaskGroup(of: Int.self) { group in
      for worker in 0..<arguments.connections {
        let share = requests / arguments.connections + (worker < requests % arguments.connections ? 1 : 0)
        group.addTask {
          var errors = 0
          for _ in 0..<share where await !fetch(arguments.url, session) { errors += 1 }
          return errors
        }
      }
      return await group.reduce(0, +)
    }
  }

  static func fetch(_ url: String, _ session: URLSession) async -> Bool {
    guard let url = URL(string: url), let (body, response) = try? await session.data(from: url) else { return false }
    return (response as? HTTPURLResponse)?.statusCode == 200 && !body.isEmpty
  }
}
