import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// The service of each end-point under the total, seen through a dispatcher.
@Suite struct FairnessTests {
  /// Ten end-points under a total of 8. The first submits a thousand requests before any other. Each end-point tops up
  /// its requests, from half a dozen to two hundred, whenever fewer than half of them wait.
  ///
  /// - Returns: The requests that were started, by end-point, in windows of 300.
  private func windows(weights: [Int], seed: UInt64) async throws -> [[Int]] {
    let total = 8
    let bench = try Bench(requests: total, total: total, waiting: 100_000, observers: [])
    let requests = try weights.indices.map { try bench.request(host: "h\($0)") }
    let places = Dictionary(uniqueKeysWithValues: requests.indices.map { (requests[$0].endPoint, $0) })
    for (request, weight) in zip(requests, weights) {
      bench.dispatcher.setLimits(try EndPointLimits(requests: total, weight: weight), for: request.endPoint)
    }
    var waiting = weights.map { _ in 0 }
    func submit(_ count: Int, _ place: Int) {
      for _ in 0..<count { bench.dispatcher.dispatch(requests[place]) { _ in } }
      waiting[place] += count
    }
    submit(1_000, 0)
    var random = SeededRandom(seed: seed)
    var running: [ScriptedExchange] = []
    var windows: [[Int]] = []
    for _ in 0..<20 {
      var window = weights.map { _ in 0 }
      while window.reduce(0, +) < 300 {
        for place in weights.indices {
          // Enough for all that may start before the next look, so that no end-point is without demand.
          let burst = total + 4 + place * 44
          if waiting[place] < burst / 2 { submit(burst - waiting[place], place) }
        }
        while let exchange = bench.transport.takeStarted() {
          running.append(exchange)
          let place = try #require(places[exchange.request.endPoint])
          waiting[place] -= 1
          window[place] += 1
        }
        #expect(running.count == total)
        bench.clock.advance(by: .milliseconds(1))
        // Durations vary.
        running.remove(at: Int.random(in: running.indices, using: &random)).respond()
      }
      windows.append(window)
    }
    await bench.dispatcher.shutDown(.now)
    #expect(bench.isClean())
    return windows
  }

  /// R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness" (1984): 1 if all shares are equal.
  private func jain(_ shares: [Double]) -> Double {
    let sum = shares.reduce(0, +)
    return sum * sum / (Double(shares.count) * shares.map { $0 * $0 }.reduce(0, +))
  }

  @Test(
    "D51 under the total end-points are served by weight, at any demand: Jain's index is at least 0.95 in every window",
    arguments: [[1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [1, 2, 4, 1, 2, 4, 1, 2, 4, 1], [10, 1, 1, 1, 1, 1, 1, 1, 1, 1]])
  func jain(weights: [Int]) async throws {
    let windows = try await windows(weights: weights, seed: 5)
    // In the first window the total was still full of the first end-point's requests.
    for window in windows.dropFirst() {
      let index = jain(zip(window, weights).map { Double($0) / Double($1) })
      #expect(index >= 0.95, "\(index): \(window)")
    }
  }
}
