import Headgate
import HeadgateOrigin
import Measure

/// Short requests beside idle streams, on one loop: `Streams STREAMS REQUESTS ROUNDS`. Each round measures without
/// streams and with them; the ratio of the medians is what the streams cost.
@main
struct StreamsBenchmark {
  static func main() async throws {
    let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
    let (streams, requests, rounds) = numbers.count == 3 ? (numbers[0], numbers[1], numbers[2]) : (2_000, 5_000, 7)
    let origin = try Origin()
    var without: [Double] = []
    var with: [Double] = []
    for _ in 0..<rounds {
      without.append(try await round(origin, streams: 0, requests))
      with.append(try await round(origin, streams: streams, requests))
    }
    without.sort()
    with.sort()
    let (low, high) = (without[rounds / 2], with[rounds / 2])
    print("{\"streams\":\(streams),\"without_us\":\(low),\"with_us\":\(high),\"ratio\":\(high / low)}")
  }

  /// Microseconds a short request, four at a time, beside so many streams that send nothing.
  static func round(_ origin: Origin, streams: Int, _ requests: Int) async throws -> Double {
    let limits = try GateLimits(
      endPoint: EndPointLimits(requests: streams + 4, long: max(1, streams)), total: 2 * (streams + 4))
    let dispatcher = try URLDispatcher(limits: limits)
    var open: [StreamedResponse] = []
    for _ in 0..<streams {
      let request = try DispatchRequest(origin.url("/stream?chunks=0&every=3600000&size=1"))
      open.append(try await dispatcher.stream(for: request, class: .long))
    }
    let url = origin.url("/")
    _ = try await fetch(dispatcher, url, 500)
    let clock = ContinuousClock()
    let started = clock.now
    try await fetch(dispatcher, url, requests)
    let elapsed = (clock.now - started).components
    for stream in open { stream.body.cancel() }
    await dispatcher.shutDown(.drain)
    return (Double(elapsed.seconds) * 1e6 + Double(elapsed.attoseconds) / 1e12) / Double(requests)
  }

  static func fetch(_ dispatcher: URLDispatcher, _ url: String, _ requests: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<(requests / 4) {
            guard try await dispatcher.data(for: url).statusCode == 200 else { complain("no 200") }
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
