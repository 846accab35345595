import HeadgateDispatch
import Measure
import Synchronization

/// One thread, callback form: W requests wait at one end-point while N more pass through. Under callgrind, the
/// difference between two values of N is the number of instructions of a request: `Waiting W N`.
@main
struct WaitingBenchmark {
  static func main() throws {
    let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
    guard numbers.count == 2 else { complain("usage: Waiting WAITING REQUESTS") }
    let transport = HeldTransport()
    let dispatcher = URLDispatcher(transport: transport, limits: try GateLimits(waiting: 10_000_000))
    let request = try DispatchRequest("http://host/")
    let before = residentBytes()
    for _ in 0..<(numbers[0] + 6) { dispatcher.dispatch(request) { _ in } }
    let after = residentBytes()
    // Each round ends one request and submits one, so the number of waiting requests stays the same.
    for _ in 0..<numbers[1] {
      transport.endOne()
      dispatcher.dispatch(request) { _ in }
    }
    if numbers[0] > 0 { print("bytes a waiting request: \((after - before) / numbers[0])") }
    print("waiting: \(dispatcher.gate.counts.waiting)")
  }
}

/// Holds its exchanges until the oldest is ended explicitly. Used by one thread.
// Unchecked: only the main thread accesses it.
final class HeldTransport: Transport, @unchecked Sendable {
  private var held: [any ExchangeEvents] = []
  private var first = 0

  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    held.append(events)
    return Nothing.one
  }

  func endOne() {
    let events = held[first]
    first += 1
    if first > 1000 {
      held.removeFirst(first)
      first = 0
    }
    events.ended(ExchangeEnd())
  }

  final class Nothing: ExchangeControl {
    static let one = Nothing()
    func cancel() {}
    func resume() {}
    var phase: DispatchError.Phase { .connecting }
  }
}
