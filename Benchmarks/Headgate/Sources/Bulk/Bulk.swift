import Headgate
import Logging
import Measure
import Synchronization

/// Fetches one URL many times through the dispatcher, whose queue holds the excess: `[--all] [--one] URL N CONNECTIONS`.
///
/// `--all`: with an observer, the log source on, and a deadline and a priority for each request. `--one`: one request
/// after another, each waited for by the thread that asked.
@main
struct BulkBenchmark {
  static func main() throws {
    let arguments = BulkArguments()
    let (withAll, inTurn) = (arguments.options.contains("--all"), arguments.options.contains("--one"))
    LoggingSystem.bootstrap { _ in DroppingHandler() }
    if withAll { HeadgateLog.enable(.dispatcher) }
    let counter = CountingObserver()
    let limits = try GateLimits(endPoint: EndPointLimits(requests: arguments.connections))
    let dispatcher = try URLDispatcher(limits: limits, observers: withAll ? [counter] : [])
    let fetch = inTurn ? Self.fetchInTurn : Self.fetch
    func request(_ number: Int) throws -> DispatchRequest {
      var request = try DispatchRequest(arguments.url)
      if withAll {
        request.deadline = .seconds(3600)
        request.priority = number % 2 == 0 ? .normal : .high
      }
      return request
    }
    _ = try fetch(warmUpRequests, dispatcher, request)
    let meter = Meter()
    let errors = try fetch(arguments.requests, dispatcher, request)
    meter.report(client: "headgate", count: ("requests", arguments.requests), errors: errors)
    guard !withAll || counter.ended == warmUpRequests + arguments.requests else { complain("not all were observed") }
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

/// Takes every line, and drops it: what is measured is what Headgate does for them.
struct DroppingHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {}
}

/// As cheap as an observer can be that hears of every request: it counts those that end.
final class CountingObserver: DispatchObserver, RequestObserver {
  private let counted = Atomic<Int>(0)

  var ended: Int { counted.load(ordering: .relaxed) }

  func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? { self }
  func requestEnded(_ report: RequestReport) { counted.add(1, ordering: .relaxed) }
}
