import Extras
import HeadgateCurl
import HeadgateDispatch
import Measure

/// Fetches one URL many times through the dispatcher, whose queue holds the excess: `[OPTIONS] URL N CONNECTIONS`.
///
/// `--async`: with tasks of a group instead of callbacks. `--executor`: with such tasks on the dispatcher's executor.
/// `--one`: one request after another; the submitting thread or task waits for each. `--all`: with an observer, the log
/// source on, and a deadline and a priority for each request.
@main
struct BulkBenchmark {
  static func main() throws {
    let arguments = BulkArguments()
    let (withAll, inTurn) = (arguments.options.contains("--all"), arguments.options.contains("--one"))
    let onExecutor = arguments.options.contains("--executor")
    let inTasks = onExecutor || arguments.options.contains("--async")
    Extras.dropLines()
    let extras = Extras(on: withAll)
    let limits = try GateLimits(endPoint: EndPointLimits(requests: arguments.connections))
    // As with the peers, compression is not requested.
    var configuration = CurlTransport.Configuration()
    configuration.acceptsCompression = false
    let transport = try CurlTransport(configuration: configuration)
    let dispatcher = URLDispatcher(transport: transport, limits: limits, observers: extras.observers)
    let request: Request = { number in try extras.request(arguments.url, number) }
    func fetch(_ count: Int) throws -> Int {
      guard inTasks else {
        return try inTurn ? fetchInTurn(count, dispatcher, request) : Self.fetch(count, dispatcher, request)
      }
      let tally = Tally(count)
      Task(executorPreference: onExecutor ? dispatcher.taskExecutor : nil) {
        if inTurn {
          for number in 0..<count { tally.ended(well: await isGood(number, dispatcher, request)) }
        } else {
          await withTaskGroup(of: Void.self) { group in
            for number in 0..<count {
              group.addTask { tally.ended(well: await isGood(number, dispatcher, request)) }
            }
          }
        }
      }
      return tally.wait()
    }
    _ = try fetch(warmUpRequests)
    let meter = Meter()
    let errors = try fetch(arguments.requests)
    meter.report(client: "headgate", count: ("requests", arguments.requests), errors: errors)
    extras.check(warmUpRequests + arguments.requests)
  }

  typealias Request = @Sendable (Int) throws -> DispatchRequest

  /// Submits all at once and waits for the last. Returns the number of failures.
  static func fetch(
    _ count: Int, _ dispatcher: URLDispatcher, _ request: Request
  ) throws -> Int {
    let tally = Tally(count)
    for number in 0..<count {
      dispatcher.dispatch(try request(number)) { result in
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
    _ count: Int, _ dispatcher: URLDispatcher, _ request: Request
  ) throws -> Int {
    var errors = 0
    for number in 0..<count {
      let response = try? dispatcher.dispatchSynchronously(try request(number))
      if response?.statusCode != 200 || response?.body.isEmpty != false { errors += 1 }
    }
    return errors
  }

  private static func isGood(_ number: Int, _ dispatcher: URLDispatcher, _ request: Request) async -> Bool {
    guard let response = try? await dispatcher.data(for: try request(number)) else { return false }
    return response.statusCode == 200 && !response.body.isEmpty
  }
}
