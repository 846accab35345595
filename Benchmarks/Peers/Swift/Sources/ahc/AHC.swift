// async-http-client, its async interface: one worker per connection, each making its share of the requests, one after
// another.
import AsyncHTTPClient
import Measure
import NIOCore

@main
struct AHC {
  static func main() async throws {
    let arguments = BulkArguments()
    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = arguments.connections
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    _ = await run(warmUpRequests, arguments, client)
    let meter = Meter()
    let errors = await run(arguments.requests, arguments, client)
    meter.report(client: "ahc", count: ("requests", arguments.requests), errors: errors)
    try await client.shutdown()
  }

  /// Makes the requests and returns the number of failures.
  static func run(_ requests: Int, _ arguments: BulkArguments, _ client: HTTPClient) async -> Int {
    await withTaskGroup(of: Int.self) { group in
      for worker in 0..<arguments.connections {
        let share = requests / arguments.connections + (worker < requests % arguments.connections ? 1 : 0)
        group.addTask {
          var errors = 0
          for _ in 0..<share where await !fetch(arguments.url, client) { errors += 1 }
          return errors
        }
      }
      return await group.reduce(0, +)
    }
  }

  static func fetch(_ url: String, _ client: HTTPClient) async -> Bool {
    do {
      let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
      let body = try await response.body.collect(upTo: 1 << 20)
      return response.status == .ok && body.readableBytes > 0
    } catch {
      return false
    }
  }
}
