import Dispatch
import Extras
import HeadgateDispatch
import Measure

/// The dispatcher alone, over a transport that does nothing: threads submit N requests to 100 end-points of limit 6.
///
///     Dispatching [N [plain | all | turns [THREADS]]]
///
/// `plain`, the default, only sends requests; `all` adds an observer, the log source, and a deadline and a priority for
/// each request. `turns` runs seven alternating rounds of both, and prints the ratio. The default is two threads; with
/// one, callgrind's counts are reproducible.
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
    Extras.dropLines()
    guard mode != "turns" else { return try turns(count, threads) }
    let meter = Meter()
    let errors = try run(count, threads, withAll: mode == "all")
    meter.report(client: "headgate-dispatch-\(mode)", count: ("operations", count), errors: errors)
  }

  /// Returns the number of failures.
  static func run(_ count: Int, _ threads: Int, withAll: Bool) throws -> Int {
    let extras = Extras(on: withAll)
    let dispatcher = URLDispatcher(transport: NoTransport(), observers: extras.observers)
    // Each thread has its own, created one after the other, as if by the threads themselves.
    let requests = try (0..<threads).map { thread in
      try stride(from: thread, to: 100, by: threads).map { try extras.request("http://host\($0)/", $0) }
    }
    let each = count / threads
    // One for each thread: a shared count would take most of their time.
    let tallies = (0..<threads).map { _ in Tally(each) }
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
      let (own, tally) = (requests[thread], tallies[thread])
      for turn in 0..<each {
        dispatcher.dispatchShort(own[turn % own.count]) { result in
          if case .success = result { tally.ended(well: true) } else { tally.ended(well: false) }
        }
      }
    }
    let errors = tallies.reduce(0) { $0 + $1.wait() }
    extras.check(each * threads)
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
