import Dispatch
import HeadgateDispatch
import Measure
import Synchronization

/// The dispatcher alone, over a transport that does nothing: two threads submit N requests to 100 end-points of limit 6.
@main
struct DispatchingBenchmark {
  static func main() throws {
    let count = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1]) ?? 1_000_000 : 1_000_000
    let dispatcher = URLDispatcher(transport: NoTransport())
    let requests = try (0..<100).map { try DispatchRequest("http://host\($0)/") }
    let tally = Tally(count)
    let meter = Meter()
    DispatchQueue.concurrentPerform(iterations: 2) { thread in
      for turn in 0..<(count / 2) {
        dispatcher.dispatchShort(requests[(turn * 2 + thread) % 100]) { result in
          if case .success = result { tally.ended(well: true) } else { tally.ended(well: false) }
        }
      }
    }
    let errors = tally.wait()
    meter.report(client: "headgate-dispatch", count: ("operations", count), errors: errors)
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
