import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The tree as a value, and whole dispatchers under random events.
@Suite struct SpanTreeTests {
  @Test("in any order of events, each start has one end, in the order of the tree", arguments: 0..<200)
  func anything(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let request = ObservedRequest(try DispatchRequest("http://a/"), .short, id: seed)
    let other = ObservedRequest(try DispatchRequest("http://b/"), .short, id: seed)
    // Of the request that was sent last, and of those whose exchanges have begun.
    var (present, sent) = (request.url(), [String]())
    let begin = Deadline(nanoseconds: 1_000_000)
    let recorded = RecordedRequest(RequestStart(request: request, at: begin))
    var tree = SpanTree(request, at: begin)
    let observers: [any RequestObserver] = [recorded]
    let error = DispatchError(.connectionLost)
    var wasLast = false
    let times = DispatchTimes(queued: .zero, total: .zero, exchange: ExchangeTimes())
    for step in 0..<60 {
      // Times that go back, as those of two threads may.
      let moment = begin.advanced(byNanoseconds: Int64(step) + Int64.random(in: -5...5, using: &random))
      let failure = Bool.random(using: &random) ? error : nil
      let event: SpanTree.Event
      switch Int.random(in: 0..<40, using: &random) {
      case 0..<8: event = .waits(request.endPoint, .redirect)
      case 8..<10: event = .backsOff(request.endPoint, .seconds(1))
      case 10..<12: event = .intercepts(request.endPoint, .response)
      case 12..<24:
        let told = [nil, request, other][Int.random(in: 0..<3, using: &random)]
        if !wasLast {
          present = told?.url() ?? present
          sent.append(present)
        }
        event = .sends(told, resends: step, limit: 1)
      case 24..<32: event = .head(200)
      case 32..<39: event = .exchangeOver(failure, ExchangeTimes())
      default: event = .over(failure, times)
      }
      wasLast = tree.apply(event, at: moment, telling: observers) || wasLast
    }
    #expect(wasLast != tree.apply(.over(nil, times), at: .distantPast, telling: observers))
    #expect(recorded.violations == [])
    #expect(recorded.exchanges.map { $0.start.request.url() } == sent)
    #expect(recorded.end?.request.url() == present)
    #expect(recorded.calls.filter { $0.hasPrefix("-request") }.count == 1)
    #expect(recorded.calls.filter { $0.hasPrefix("+") }.count == recorded.calls.filter { $0.hasPrefix("-") }.count - 1)
  }

  @Test(
    "under random requests, answers, cancellations and ends a dispatcher reports each request by the rules",
    arguments: 0..<40)
  func dispatcher(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let recording = RecordingObserver()
    let endsWhenCancelled = Bool.random(using: &random)
    let overflow: OverflowPolicy = [.refuse, .dropOldest, .dropLowest][Int.random(in: 0..<3, using: &random)]
    let bench = try Bench(
      requests: 2, total: 5, waiting: 6, overflow: overflow,
      transport: ScriptedTransport(endsWhenCancelled: endsWhenCancelled), observers: [recording])
    let results = Outcomes<(number: Int, code: DispatchError.Code?, status: Int?)>()
    var operations: [URLDispatchOperation] = []
    var exchanges: [ScriptedExchange] = []
    for _ in 0..<300 {
      while let exchange = bench.transport.takeStarted() { exchanges.append(exchange) }
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<7:
        var request = try bench.request(host: ["a", "b", "c"][Int.random(in: 0..<3, using: &random)])
        if Bool.random(using: &random) { request.deadline = .seconds(Int.random(in: 1...9, using: &random)) }
        if Bool.random(using: &random) { request.timeout = .seconds(Int.random(in: 1...4, using: &random)) }
        if Bool.random(using: &random) {
          request.retry = RetryPolicy(attempts: 3, backoff: .constant(.seconds(1)), budget: .none)
        }
        let number = operations.count
        operations.append(
          bench.dispatcher.dispatch(request) { result in
            results.add((number, result.code, try? result.get().statusCode))
          })
      case 7..<15: try Self.play(&exchanges, &random)
      case 15, 16: operations.randomElement(using: &random)?.cancel()
      default: bench.clock.advance(by: .milliseconds(Int.random(in: 0...1500, using: &random)))
      }
    }
    bench.dispatcher.beginShutDown([.graceful, .now, .drain][Int.random(in: 0..<3, using: &random)])
    while bench.counts.running + bench.counts.waiting > 0 || results.count < operations.count {
      while let exchange = bench.transport.takeStarted() { exchanges.append(exchange) }
      for exchange in exchanges { Self.finish(exchange) }
      exchanges = []
      bench.clock.advance(by: .seconds(1))
    }
    #expect(recording.violations == [], "seed \(seed)")
    #expect(recording.unfinished == 0, "seed \(seed)")
    #expect(recording.requests.count == operations.count)
    for result in results.values {
      let request = recording.requests[result.number]
      #expect(request.end?.error?.code == result.code, "seed \(seed)")
      if result.code == nil { #expect(request.end?.statusCode == result.status, "seed \(seed)") }
      let waited = request.waits.reduce(Duration.zero) { $0 + ($1.end.at - $1.start.at) }
      #expect(waited == request.end?.times.queued, "seed \(seed): \(request.calls)")
    }
    #expect(bench.isClean())
  }

  private static func play(_ exchanges: inout [ScriptedExchange], _ random: inout SeededRandom) throws {
    guard !exchanges.isEmpty else { return }
    let place = Int.random(in: 0..<exchanges.count, using: &random)
    let exchange = exchanges[place]
    guard !exchange.isCancelled, exchange.phase != .receiving else {
      exchanges.remove(at: place)
      return finish(exchange)
    }
    switch Int.random(in: 0..<6, using: &random) {
    case 0: exchange.end(DispatchError(.connectionLost, phase: .awaitingHead))
    case 1: exchange.respond(503)
    case 2: exchange.respond(302, [.location: "http://\(["a", "b", "c"].randomElement(using: &random) ?? "a")/"])
    case 3:
      // Only the head: the rest comes later, or never.
      exchange.head(200)
      return
    default: exchange.respond(200, body: "x")
    }
    exchanges.remove(at: place)
  }

  private static func finish(_ exchange: ScriptedExchange) {
    if exchange.isCancelled {
      exchange.end(DispatchError(.cancelled))
    } else if exchange.phase == .receiving {
      exchange.end()
    } else {
      exchange.respond()
    }
  }
}
