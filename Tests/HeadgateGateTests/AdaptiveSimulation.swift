import HeadgateTesting
import HeadgateThreads

@testable import HeadgateGate

/// A server with a limit on concurrent requests, or on starts per second with a tolerance (GCRA, a token bucket if it
/// has a burst).
struct ModelServer {
  var most: Int?
  var rate: Double?
  var burst = 0.0
  private(set) var running = 0
  private var theoretical = 0.0

  init(most: Int? = nil, rate: Double? = nil, burst: Double = 0) {
    (self.most, self.rate, self.burst) = (most, rate, burst)
  }

  mutating func takes(at now: Double) -> Bool {
    if let most, running >= most { return false }
    if let rate {
      if theoretical - burst / rate > now + 1e-9 { return false }
      theoretical = max(theoretical, now) + 1 / rate
    }
    running += 1
    return true
  }

  mutating func ended() { running -= 1 }

  /// The throughput per second of a client that knows the limits.
  func oracle(latency: Double) -> Double {
    min(most.map { Double($0) / latency } ?? .infinity, rate ?? .infinity)
  }
}

/// A client that always has requests to send, in virtual time.
struct AdaptiveSimulation {
  var server: ModelServer
  /// The average duration of an answer in seconds, and the part of it by which durations vary.
  var latency: Double
  var spread = 0.3
  /// The longest travel time in seconds. A refusal takes the duration given with it.
  var transit = 0.002
  var refusal = 0.01
  var ceiling = 64
  /// Changes of the server's limits.
  var steps: [(second: Double, change: (inout ModelServer) -> Void)] = []

  struct Result {
    /// Counts by second.
    var served: [Int]
    var refused: [Int]
    var limit: AdaptiveLimit

    func sums(_ seconds: Range<Int>) -> (served: Int, refused: Int) {
      (served[seconds].reduce(0, +), refused[seconds].reduce(0, +))
    }
  }

  private enum Event {
    case arrives(AdaptiveLimit.Start)
    case leaves(AdaptiveLimit.Start)
    case answered(AdaptiveLimit.Start, isServed: Bool)
    case looks
    case step(Int)
  }

  func run(seconds: Int, seed: UInt64, remembered: LearnedLimits.Entry? = nil) -> Result {
    var random = SeededRandom(seed: seed)
    var server = server
    var result = Result(
      served: Array(repeating: 0, count: seconds), refused: Array(repeating: 0, count: seconds),
      limit: AdaptiveLimit(AdaptivePolicy(), ceiling: ceiling, remembered: remembered))
    // The next event is last.
    var events: [(second: Double, number: Int, event: Event)] = []
    var count = 0
    func add(_ second: Double, _ event: Event) {
      count += 1
      var (low, high) = (0, events.count)
      while low < high {
        let middle = (low + high) / 2
        if (events[middle].second, events[middle].number) > (second, count) { low = middle + 1 } else { high = middle }
      }
      events.insert((second, count, event), at: low)
    }
    func moment(_ second: Double) -> Deadline { Deadline(nanoseconds: UInt64((second + 1) * 1e9)) }
    func way() -> Double { transit * .random(in: 0...1, using: &random) }
    var (running, pausedUntil, looksAt) = (0, 0.0, -1.0)
    add(0, .looks)
    for (place, step) in steps.enumerated() { add(step.second, .step(place)) }
    while let (now, _, event) = events.popLast(), now < Double(seconds) {
      switch event {
      case .step(let place): steps[place].change(&server)
      case .looks: looksAt = -1
      case .arrives(let start):
        if server.takes(at: now) {
          add(now + latency * .random(in: (1 - spread)...(1 + spread), using: &random), .leaves(start))
        } else {
          add(now + refusal * .random(in: 0.5...1.5, using: &random), .answered(start, isServed: false))
        }
      case .leaves(let start):
        server.ended()
        add(now + way(), .answered(start, isServed: true))
      case .answered(let start, true):
        running -= 1
        result.served[Int(now)] += 1
        _ = result.limit.accepted(start, at: moment(now))
      case .answered(let start, false):
        running -= 1
        result.refused[Int(now)] += 1
        let refusal = result.limit.refused(start, status: 429, at: moment(now))
        if refusal.isHopeless { pausedUntil = max(pausedUntil, now + 1) }
      }
      while running < result.limit.requests {
        let earliest = max(Double(result.limit.notBefore.nanoseconds) / 1e9 - 1, pausedUntil)
        guard earliest <= now + 1e-7 else {
          if looksAt < 0 || looksAt > earliest {
            looksAt = earliest
            add(earliest, .looks)
          }
          break
        }
        running += 1
        add(now + way(), .arrives(result.limit.started(running: running, at: moment(now))))
      }
    }
    return result
  }
}
