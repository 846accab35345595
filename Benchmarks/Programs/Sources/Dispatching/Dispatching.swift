import Dispatch
import Extras
import HTTPTypes
import HeadgateDispatch
import HeadgateGate
import Measure

/// The dispatcher alone, over a transport that does nothing: threads submit N requests to 100 end-points of limit 6.
///
///     Dispatching [N [plain | all | answers | troubled | scopes | permits | turns [THREADS]]]
///
/// `plain`, the default, only sends requests. Of the others, each adds something:
/// - `all`: an observer, the log source, and a deadline and a priority for each request;
/// - `answers`: a head for each response;
/// - `troubled`: the same, and the first response is a 503 with a wait of ten minutes;
/// - `scopes`: two scopes with limits for each request;
/// - `permits`: no requests, but bare permits of the gate.
///
/// `turns` runs seven alternating rounds of `plain` and `all`, and prints the ratio. The default is two threads; with one,
/// callgrind's counts are reproducible.
@main
struct DispatchingBenchmark {
  static func main() throws {
    let arguments = CommandLine.arguments
    let count = arguments.count > 1 ? Int(arguments[1]) ?? 0 : 1_000_000
    let mode = arguments.count > 2 ? arguments[2] : "plain"
    let threads = arguments.count > 3 ? Int(arguments[3]) ?? 0 : 2
    guard count > 0, threads > 0, mode == "turns" || Load(rawValue: mode) != nil else {
      complain("usage: Dispatching [N [plain|all|answers|troubled|scopes|permits|turns [THREADS]]]")
    }
    Extras.dropLines()
    guard let load = Load(rawValue: mode) else { return try turns(count, threads) }
    let meter = Meter()
    let errors = try run(count, threads, load)
    meter.report(client: "headgate-dispatch-\(mode)", count: ("operations", count), errors: errors)
  }

  enum Load: String {
    case plain, all, answers, troubled, scopes, permits
  }

  /// Returns the number of failures.
  static func run(_ count: Int, _ threads: Int, _ load: Load) throws -> Int {
    let extras = Extras(on: load == .all)
    var limits = try GateLimits()
    if load == .scopes {
      let scope = try ScopeLimits(requests: 6)
      limits.scopes = [.key("account"): scope, .route("GET /"): scope]
    }
    let transport: any Transport = load == .answers || load == .troubled ? HeadTransport() : NoTransport()
    let dispatcher = URLDispatcher(transport: transport, limits: limits, observers: extras.observers)
    if load == .troubled {
      let trouble = Tally(1)
      dispatcher.dispatch(try DispatchRequest("http://trouble/")) { _ in trouble.ended(well: true) }
      _ = trouble.wait()
    }
    // Each thread has its own, created one after the other, as if by the threads themselves.
    let requests = try (0..<threads).map { thread in
      try stride(from: thread, to: 100, by: threads).map { number in
        var request = try extras.request("http://host\(number)/", number)
        if load == .scopes { request.scopes = [.key("account"), .route("GET /")] }
        return request
      }
    }
    let each = count / threads
    // One for each thread: a shared count would take most of their time.
    let tallies = (0..<threads).map { _ in Tally(each) }
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
      let (own, tally) = (requests[thread], tallies[thread])
      if load == .permits {
        let (gate, endPoints) = (dispatcher.gate, own.map(\.endPoint))
        for turn in 0..<each {
          gate.requestPermit(for: endPoints[turn % own.count]) { result in
            if let permit = try? result.get() {
              permit.release()
              tally.ended(well: true)
            } else {
              tally.ended(well: false)
            }
          }
        }
        return
      }
      for turn in 0..<each {
        dispatcher.dispatch(own[turn % own.count]) { result in
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
      guard try run(count, threads, withAll ? .all : .plain) == 0 else { complain("a request failed") }
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

/// Answers every exchange at once, with a head.
struct HeadTransport: Transport {
  private let well = ResponseHead(
    statusCode: 200, headerFields: [.server: "x", .contentType: "text/plain", .contentLength: "0"])
  private let badly = ResponseHead(statusCode: 503, headerFields: [.retryAfter: "600"])

  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    _ = events.received(exchange.request.endPoint.host == "trouble" ? badly : well)
    events.ended(ExchangeEnd())
    return NoTransport.Nothing.one
  }
}
