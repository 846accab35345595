import HTTPTypes
import HeadgateDispatch
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

/// The messages of the log source `dispatcher`.
@Suite(.serialized) struct DispatchLogTests {
  private final class Lines: HeadgateLogDelegate {
    let lines = Outcomes<String>()
    func headgateLog(_ line: String, source: HeadgateLog.Source) {
      // Other tests may log at the same time.
      guard source == .dispatcher, line.contains("): GET http://logged") else { return }
      lines.add(String(line[line.index(after: line.firstIndex(of: ")") ?? line.startIndex)...].dropFirst(2)))
    }
  }

  /// Runs a test while the source is enabled, with the lines that it logs.
  private func withLog(_ body: (Lines) throws -> Void) rethrows {
    let log = Lines()
    HeadgateLog.delegate = log
    HeadgateLog.enable(.dispatcher)
    defer {
      HeadgateLog.disable(.dispatcher)
      HeadgateLog.delegate = nil
    }
    try body(log)
  }

  @Test("the source dispatcher logs waits, starts, pauses and ends of a request, without the secrets of its URL")
  func lines() throws {
    try withLog { log in
      let bench = try Bench(requests: 1, observers: [])
      let responses = Responses()
      var request = try bench.request("/a?token=hunter2", host: "logged")
      request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(2)), budget: .none)
      bench.send(request, into: responses)
      (try #require(bench.transport.takeStarted())).end(
        DispatchError(.connectionLost, phase: .awaitingHead, detail: "hunter2"))
      bench.clock.advance(by: .seconds(2))
      (try #require(bench.transport.takeStarted())).respond(302, [.location: "http://logged.example/b?hunter2"])
      bench.clock.advance(by: .milliseconds(1500))
      (try #require(bench.transport.takeStarted())).respond()
      bench.send(request, into: responses).cancel()
      #expect(
        log.lines.values == [
          "GET http://logged/a waits for a permit of logged:80 (submission)",
          "GET http://logged/a starts",
          "GET http://logged/a backs off for 2.0 s before it is sent again",
          "GET http://logged/a waits for a permit of logged:80 (retry)",
          "GET http://logged/a starts, resend 1",
          "GET http://logged.example/b waits for a permit of logged.example:80 (redirect)",
          "GET http://logged.example/b starts, resend 2",
          "GET http://logged.example/b ended with status 200 after 3.5 s, 0 ms of it in the queue",
          "GET http://logged/a waits for a permit of logged:80 (submission)",
          "GET http://logged/a starts",
          "GET http://logged/a failed: cancelled while connecting after 0 ms, 0 ms of it in the queue",
        ])
    }
  }

  @Test("a request that gets no retry because its budget is used up logs that")
  func lackOfBudget() throws {
    try withLog { log in
      let bench = try Bench(requests: 1, observers: [])
      var request = try bench.request(host: "logged")
      request.retry = RetryPolicy(attempts: 2, budget: .shared(RetryBudget(ratio: 0, reserve: 0, limit: 0)))
      bench.send(request, into: Responses())
      (try #require(bench.transport.takeStarted())).respond(502)
      #expect(
        log.lines.values.contains(
          "GET http://logged/ gets no retry: the shared retry budget is used up; raise its ratio or limit"))
    }
  }

  @Test("a request that does not start at once logs what it waits for")
  func reasons() throws {
    try withLog { log in
      let bench = try Bench(requests: 1)
      for number in 0..<3 { bench.send(try bench.request("/\(number)", host: "logged"), into: Responses()) }
      #expect(log.lines.values.contains("GET http://logged/1 waits for: limit 1/1"))
      #expect(log.lines.values.contains("GET http://logged/2 waits for: limit 1/1"))
      #expect(!log.lines.values.contains { $0.hasPrefix("GET http://logged/0 waits for:") })
      bench.dispatcher.dispose()
      let waits = bench.recording.requests.map { $0.waits.first?.end.waitReason?.kind }
      #expect(waits == [nil, .limit, .limit])
    }
  }

  @Test("a disabled source logs nothing")
  func off() throws {
    let log = Lines()
    HeadgateLog.delegate = log
    defer { HeadgateLog.delegate = nil }
    let bench = try Bench()
    bench.send(try bench.request(host: "logged"), into: Responses())
    bench.dispatcher.dispose()
    #expect(log.lines.values == [])
  }
}
