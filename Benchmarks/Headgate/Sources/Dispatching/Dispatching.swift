import Dispatch
import HeadgateDispatch
import HeadgateThreads
import Logging
import Measure
import Synchronization

/// The dispatcher alone, over a transport that does nothing: threads submit N requests to 100 end-points of limit 6.
///
///     Dispatching [N [plain | all | turns [THREADS]]]
///
/// `plain`, unless said, uses nothing beside the requests; `all` has an observer, the log source on, and each request a
/// deadline and a priority. `turns` makes seven rounds of both, one after the other, and prints the ratio. Two threads,
/// unless said; with one, callgrind counts the same each time.
@main
struct DispatchingBenchmark {
  static func main() throws {
    let arguments = CommandLine.arguments
    let count = arguments.count > 1 ? Int(arguments[1]) ?? 0 : 1_000_000
    let mode = arguments.count > 2 ? arguments[2] : "plain"
    let threads = arguments.count > 3 ? Int(arguments[3]) ?? 0 : 2
    guard count > 0, threads > 0, ["plain", "all", "turns"].contains(mode) else {
      complain("usage: Dispatching [N [plain|all|turns [THREADS]]]")
    }
    LoggingSystem.bootstrap { _ in DroppingHandler() }
    guard mode != "turns" else { return try turns(count, threads) }
    let meter = Meter()
    let errors = try run(count, threads, withAll: mode == "all")
    meter.report(client: "headgate-dispatch-\(mode)", count: ("operations", count), errors: errors)
  }

  /// Returns how many failed.
  static func run(_ count: Int, _ threads: Int, withAll: Bool) throws -> Int {
    if withAll { HeadgateLog.enable(.dispatcher) } else { HeadgateLog.disableAll() }
    let counter = CountingObserver()
    let dispatcher = URLDispatcher(transport: NoTransport(), observers: withAll ? [counter] : [])
    let priorities: [RequestPriority] = [.background, .low, .normal, .high, .urgent]
    let requests = try (0..<100).map { number in
      var request = try DispatchRequest("http://host\(number)/")
      if withAll {
        request.deadline = .seconds(3600)
        request.priority = priorities[number % priorities.count]
      }
      return request
    }
    let each = count / threads
    let tally = Tally(each * threads)
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
      for turn in 0..<each {
        dispatcher.dispatchShort(requests[(turn * threads + thread) % 100]) { result in
          if case .success = result { tally.ended(well: true) } else { tally.ended(well: false) }
        }
      }
    }
    let errors = tally.wait()
    guard !withAll || counter.ended == each * threads else { complain("the observer has not heard of all") }
    return errors
  }

  static func turns(_ count: Int, _ threads: Int) throws {
    let clock = ContinuousClock()
    func seconds(withAll: Bool) throws -> Double {
      let started = clock.now
      guard try run(count, threads, withAll: withAll) == 0 else { complain("a request failed") }
      let elapsed = (clock.now - started).components
      return Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18
    }
    _ = try seconds(withAll: false)
    let pairs = try (0..<7).map { _ in (plain: try seconds(withAll: false), all: try seconds(withAll: true)) }
    let ratios = pairs.map { $0.all / $0.plain }.sorted()
    let plain = pairs.map(\.plain).sorted()[3]
    let all = pairs.map(\.all).sorted()[3]
    print(
      "{\"operations\":\(count),\"plain\":\(plain),\"all\":\(all),\"ratio\":\(ratios[3]),\"from\":\(ratios[0]),\"to\":\(ratios[6])}"
    )
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

/// As cheap as an observer can be that hears of every request: it counts those that begin and those that end.
final class CountingObserver: DispatchObserver, RequestObserver {
  private let counted = Atomic<Int>(0)

  var ended: Int { counted.load(ordering: .relaxed) }

  func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? { self }
  func requestEnded(_ report: RequestReport) { counted.add(1, ordering: .relaxed) }
}

/// Answers every exchange at once, with nothing.
struct NoTransport: Transport {
  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    events.ended(ExchangeEnd())
    return Nothing.one
  }

  final class Nothing: ExchangeControl {
    static let one = Nothing()
    func cancel() {}
    func resume() {}
    var phase: DispatchError.Phase { .connecting }
  }
}
