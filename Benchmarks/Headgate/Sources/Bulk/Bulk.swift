import Headgate
import Measure
import Synchronization

/// Fetches one URL many times through the dispatcher, whose queue holds the excess: URL N CONNECTIONS.
@main
struct BulkBenchmark {
  static func main() throws {
    let arguments = BulkArguments()
    let limits = try GateLimits(endPoint: EndPointLimits(requests: arguments.connections))
    let dispatcher = try URLDispatcher(limits: limits)
    _ = try fetch(arguments.url, warmUpRequests, dispatcher)
    let meter = Meter()
    let errors = try fetch(arguments.url, arguments.requests, dispatcher)
    meter.report(client: "headgate", count: ("requests", arguments.requests), errors: errors)
  }

  /// Submits all at once and waits for the last. Returns how many failed.
  static func fetch(_ url: String, _ count: Int, _ dispatcher: URLDispatcher) throws -> Int {
    let tally = Tally(count)
    for _ in 0..<count {
      dispatcher.dispatchShort(try DispatchRequest(url)) { result in
        if case .success(let response) = result, response.statusCode == 200, response.body.count > 0 {
          tally.ended(well: true)
        } else {
          tally.ended(well: false)
        }
      }
    }
    return tally.wait()
  }
}
