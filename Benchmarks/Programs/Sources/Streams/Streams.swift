import Foundation
import Headgate
import HeadgateOrigin
import Measure
import Synchronization

/// Short requests, four at a time, during streams that fill the long lane: `Streams STREAMS REQUESTS ROUNDS`. Each
/// round measures without streams and with them, and prints medians and 99th percentiles of one request, with their
/// ratios.
///
/// First during STREAMS idle streams; then during streams of 200 ms, twelve of which are requested at any time while
/// the end-point allows eight connections, and the same with a plain client that is limited to eight connections.
@main
struct StreamsBenchmark {
  static func main() async throws {
    let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
    let (streams, requests, rounds) = numbers.count == 3 ? (numbers[0], numbers[1], numbers[2]) : (2_000, 5_000, 7)
    let origin = try Origin()
    try await compare("headgate, \(streams) idle streams", rounds) { withStreams in
      try await idle(origin, streams: withStreams ? streams : 0, requests)
    }
    try await compare("headgate, 12 streams wanted, 8 connections", rounds) { withStreams in
      try await lanes(origin, streams: withStreams ? 12 : 0, requests)
    }
    try await compare("bare URLSession, 12 streams wanted, 8 connections", rounds) { withStreams in
      // Few, because each of them may wait for the end of a stream.
      try await bare(origin, streams: withStreams ? 12 : 0, withStreams ? 100 : requests)
    }
  }

  /// Alternates between both, and prints the medians over the rounds.
  static func compare(_ what: String, _ rounds: Int, _ run: @Sendable (Bool) async throws -> Latencies) async throws {
    var pairs: [(without: Latencies, with: Latencies)] = []
    for _ in 0..<rounds { pairs.append((try await run(false), try await run(true))) }
    func median(_ value: ((without: Latencies, with: Latencies)) -> Double) -> Double {
      pairs.map(value).sorted()[rounds / 2]
    }
    print(what)
    print(
      "  median          \(Int(median(\.without.median))) us, with streams \(Int(median(\.with.median))) us",
      terminator: "")
    print(", ratio \(median { $0.with.median / $0.without.median })")
    print(
      "  99th percentile \(Int(median(\.without.high))) us, with streams \(Int(median(\.with.high))) us", terminator: ""
    )
    print(", ratio \(median { $0.with.high / $0.without.high })")
  }

  static func idle(_ origin: Origin, streams: Int, _ requests: Int) async throws -> Latencies {
    let limits = try GateLimits(
      endPoint: EndPointLimits(requests: streams + 4, long: max(1, streams)), total: 2 * (streams + 4))
    let dispatcher = try URLDispatcher(limits: limits)
    var open: [StreamedResponse] = []
    for _ in 0..<streams {
      let request = try DispatchRequest(origin.url("/stream?chunks=0&every=3600000&size=1"))
      open.append(try await dispatcher.stream(for: request, lane: .long))
    }
    let latencies = try await shortRequests(requests) { try await fetch(dispatcher, origin.url("/")) }
    for stream in open { stream.body.cancel() }
    await dispatcher.shutDown(.drain)
    return latencies
  }

  private static let shortStream = "/stream?chunks=10&every=20&size=16"

  static func lanes(_ origin: Origin, streams: Int, _ requests: Int) async throws -> Latencies {
    let dispatcher = try URLDispatcher(limits: try GateLimits(endPoint: EndPointLimits(requests: 8, long: 4)))
    let stream = try DispatchRequest(origin.url(shortStream))
    let latencies = try await beside(streams) {
      for try await _ in try await dispatcher.stream(for: stream, lane: .long).body {}
    } measured: {
      try await shortRequests(requests) { try await fetch(dispatcher, origin.url("/")) }
    }
    await dispatcher.shutDown(.drain)
    return latencies
  }

  static func bare(_ origin: Origin, streams: Int, _ requests: Int) async throws -> Latencies {
    let client = BareClient(connections: 8)
    let latencies = try await beside(streams) {
      try await client.get(origin.url(shortStream))
    } measured: {
      try await shortRequests(requests) { try await client.get(origin.url("/")) }
    }
    client.end()
    return latencies
  }

  /// Runs a measurement while this many tasks create streams, each of them one after another.
  static func beside(
    _ streams: Int, stream: @escaping @Sendable () async throws -> Void,
    measured: @Sendable () async throws -> Latencies
  ) async throws -> Latencies {
    let isOver = Flag()
    return try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<streams { group.addTask { while !isOver.isSet { try await stream() } } }
      // Waits until the streams hold all the places that they can get.
      if streams > 0 { try await Task.sleep(for: .milliseconds(300)) }
      let latencies = try await measured()
      isOver.set()
      try await group.waitForAll()
      return latencies
    }
  }

  static func fetch(_ dispatcher: URLDispatcher, _ url: String) async throws {
    guard try await dispatcher.data(for: url).statusCode == 200 else { complain("no 200") }
  }

  /// Sends the requests four at a time, after a warm-up.
  static func shortRequests(
    _ requests: Int, _ request: @escaping @Sendable () async throws -> Void
  ) async throws -> Latencies {
    let clock = ContinuousClock()
    return try await withThrowingTaskGroup(of: [Double].self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<(requests / 40) { try await request() }
          var taken: [Double] = []
          for _ in 0..<(requests / 4) {
            let elapsed = try await clock.measure { try await request() }.components
            taken.append(Double(elapsed.seconds) * 1e6 + Double(elapsed.attoseconds) / 1e12)
          }
          return taken
        }
      }
      return Latencies(try await group.reduce(into: []) { $0 += $1 })
    }
  }
}

/// The durations of requests, in microseconds.
struct Latencies {
  let median: Double
  /// The 99th percentile.
  let high: Double

  init(_ taken: [Double]) {
    let sorted = taken.sorted()
    median = sorted[sorted.count / 2]
    high = sorted[sorted.count * 99 / 100]
  }
}

final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .relaxed) }
  func set() { value.store(true, ordering: .relaxed) }
}
