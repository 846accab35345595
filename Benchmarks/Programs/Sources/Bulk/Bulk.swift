import Extras
import HeadgateCurl
import HeadgateDispatch
import Measure

/// Fetches one URL many times through the dispatcher, whose queue holds the excess: `[--all] [--one] URL N CONNECTIONS`.
///
/// `--all`: with an observer, the log source on, and a deadline and a priority for each request. `--one`: one request
/// after another, each waited for by the thread that asked.
@main
struct BulkBenchmark {
  static func main() throws {
    let arguments = BulkArguments()
    let (withAll, inTurn) = (arguments.options.contains("--all"), arguments.options.contains("--one"))
    Extras.dropLines()
    let extras = Extras(on: withAll)
    let limits = try GateLimits(endPoint: EndPointLimits(requests: arguments.connections))
    // As with the peers, no compressed body is asked for.
    var configuration = CurlTransport.Configuration()
    configuration.acceptsCompression = false
    let transport = try CurlTransport(configuration: configuration)
    let dispatcher = URLDispatcher(transport: transport, limits: limits, observers: extras.observers)
    let fetch = inTurn ? Self.fetchInTurn : Self.fetch
    func request(_ number: Int) throws -> DispatchRequest { try extras.request(arguments.url, number) }
    _ = try fetch(warmUpRequests, dispatcher, request)
    let meter = Meter()
    let errors = try fetch(arguments.requests, dispatcher, request)
    meter.report(client: "headgate", count: ("requests", arguments.requests), errors: errors)
    extras.check(warmUpRequests + arguments.requests)
  }

  /// Submits all at once and waits for the last. Returns how many failed.
  static func fetch(
    _ count: Int, _ dispatcher: URLDispatcher, _ request: (Int) throws -> DispatchRequest
  ) throws -> Int {
    let tally = Tally(count)
    for number in 0..<count {
      dispatcher.dispatchShort(try request(number)) { result in
        if case .success(let response) = result, response.statusCode == 200, response.body.count > 0 {
          tally.ended(well: true)
        } else {
          tally.ended(well: false)
        }
      }
    }
    return tally.wait()
  }

  static func fetchInTurn(
    _ count: Int, _ dispatcher: URLDispatcher, _ request: (Int) throws -> DispatchRequest
  ) throws -> Int {
    var errors = 0
    for number in 0..<count {
      let response = try? dispatcher.dispatchSynchronously(try request(number))
      if response?.statusCode != 200 || response?.body.isEmpty != false { errors += 1 }
    }
    return errors
  }
}
