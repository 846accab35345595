import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Section N of the cases: the end, in any state.
@Suite struct ShutdownRaceTests {
  private static let policy = RetryPolicy(attempts: 5, backoff: .constant(.seconds(1)), budget: .none)

  /// Failures pause before another attempt, hanging requests have an idle limit, redirects wait at another end-point.
  private static func transport() -> ScriptedTransport {
    ScriptedTransport { exchange in
      switch exchange.request.url.utf8.last.map(Unicode.Scalar.init) {
      case "0": exchange.end(DispatchError(.connectionLost))
      case "1": exchange.head()
      case "2": exchange.respond(302, [.location: "http://b/3"])
      default: exchange.respond(body: "x")
      }
    }
  }

  @Test(
    "D118 a shutdown amid submissions, pauses, idle limits and redirects ends each request once, and leaves nothing",
    arguments: [ShutdownMode.drain, .graceful, .now])
  func race(mode: ShutdownMode) async throws {
    for round in 0..<25 {
      let bench = try Bench(requests: 3, transport: Self.transport())
      let responses = Responses()
      let requests = try (0..<4).map { kind in
        var request = try bench.request("/\(kind)")
        request.retry = Self.policy
        request.idleTimeout = .seconds(1)
        request.deadline = .seconds(600)
        return request
      }
      let (submitted, isOver) = (Gate(), Gate())
      var threads = try (0..<2).map { number in
        try WorkerThread(name: "submitter-\(number)") {
          for turn in 0..<40 {
            bench.send(requests[(turn + number) % 4], into: responses)
            if turn == round { submitted.open() }
          }
        }
      }
      let clock = bench.clock
      threads.append(
        try WorkerThread(name: "clock") {
          while !isOver.isOpen { clock.advance(by: .milliseconds(100)) }
        })
      await submitted.waitRegardless()
      await bench.dispatcher.shutDown(mode)
      isOver.open()
      for thread in threads { thread.join() }
      // Submissions after the shutdown were refused at once.
      #expect(responses.count == 80)
      let codes = Set(responses.values.map(\.code))
      // The clock runs as fast as its thread, so any limit may have passed.
      let limits: Set<DispatchError.Code?> = [.idleTimedOut, .timedOut, .deadlineExceeded]
      #expect(codes.subtracting(limits).isSubset(of: [nil, .shutDown, .connectionLost]))
      // The thread for overflow may have started requests too.
      #expect(await bench.isCleanAtLast())
    }
  }
}
