import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Section I of the cases: retries. Steps on the manual clock.
@Suite struct RetryPolicyTests {
  private static let always = RetryPolicy(attempts: 3, backoff: .constant(.seconds(2)), budget: .none)

  private func request(_ bench: Bench, _ policy: RetryPolicy = always, _ path: String = "/") throws -> DispatchRequest {
    var request = try bench.request(path)
    request.retry = policy
    return request
  }

  @Test("D79 a request that pauses between two attempts holds no permit, and others run meanwhile")
  func releasesPermit() async throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    let operation = bench.send(try request(bench), into: responses)
    bench.send(try bench.request("/other"), into: responses)
    (try #require(bench.transport.takeStarted())).respond(503)
    #expect(operation.state == .waiting)
    let other = try #require(bench.transport.takeStarted())
    #expect(other.request.url == "http://a/other")
    bench.clock.advance(by: .seconds(3))
    // The permit is in use, so the second attempt waits for it.
    #expect(bench.counts.waiting == 1)
    other.respond()
    (try #require(bench.transport.takeStarted())).respond(200, body: "x")
    #expect(responses.count == 2)
    let response = try #require(try responses.last?.get())
    #expect(response.text == "x")
    #expect(response.times.attempts == 2)
    #expect(bench.isClean())
  }

  @Test(
    "D80 network failures are retried up to the limit, even if nothing else is left to do; then the request fails",
    arguments: [
      DispatchError.Code.connectFailed, .connectionLost, .connectTimedOut, .nameNotResolved,
    ])
  func failures(code: DispatchError.Code) throws {
    let bench = try Bench()
    let responses = Responses()
    bench.send(try request(bench), into: responses)
    for attempt in 1...3 {
      (try #require(bench.transport.takeStarted())).end(DispatchError(code))
      #expect(responses.count == (attempt == 3 ? 1 : 0))
      bench.clock.advance(by: .seconds(2))
    }
    #expect(responses.last?.code == code)
    #expect(bench.transport.takeStarted() == nil)
    #expect(bench.isClean())
  }

  @Test(
    "other failures are not retried",
    arguments: [DispatchError.Code.tlsFailed, .badResponse, .bodyTooLarge, .cancelled])
  func finalFailures(code: DispatchError.Code) throws {
    let bench = try Bench()
    let responses = Responses()
    bench.send(try request(bench), into: responses)
    bench.transport.takeStarted()?.end(DispatchError(code))
    #expect(responses.last?.code == code)
    #expect(bench.isClean())
  }

  @Test("the last answer is the response, whatever it asks for")
  func exhausted() throws {
    let bench = try Bench()
    let responses = Responses()
    bench.send(try request(bench), into: responses)
    for _ in 0..<3 {
      bench.transport.takeStarted()?.respond(429, body: "later")
      bench.clock.advance(by: .seconds(2))
    }
    let response = try #require(try responses.last?.get())
    #expect((response.statusCode, response.text, response.times.attempts) == (429, "later", 3))
    #expect(bench.isClean())
  }

  @Test("Retry-After is kept, and one beyond the longest ends the retries")
  func retryAfter() throws {
    let bench = try Bench()
    let responses = Responses()
    bench.send(try request(bench), into: responses)
    bench.transport.takeStarted()?.respond(503, [.retryAfter: "7"])
    bench.clock.advance(by: .seconds(6))
    #expect(bench.transport.takeStarted() == nil)
    bench.clock.advance(by: .seconds(1))
    bench.transport.takeStarted()?.respond(503, [.retryAfter: "61"])
    #expect(try responses.last?.get().statusCode == 503)
    #expect(bench.isClean())
  }

  @Test("D82 requests that may not be repeated are not, unless allowed or marked")
  func idempotency() throws {
    var marked = try Bench().request()
    marked.method = .post
    #expect(!Self.always.mayRepeat(marked, isUnprocessed: false))
    #expect(Self.always.mayRepeat(marked, isUnprocessed: true))
    var told = Self.always
    told.repeats = .idempotent
    #expect(!told.mayRepeat(marked, isUnprocessed: true))
    told.repeats = .all
    #expect(told.mayRepeat(marked, isUnprocessed: false))
    marked.headerFields[try #require(HTTPField.Name("Idempotency-Key"))] = "1"
    #expect(Self.always.mayRepeat(marked, isUnprocessed: false))
    marked.body = RequestBody([1], canBeSentAgain: false)
    #expect(!told.mayRepeat(marked, isUnprocessed: true))
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"] {
      var request = try Bench().request()
      request.method = try #require(HTTPRequest.Method(rawValue: method))
      #expect(Self.always.mayRepeat(request, isUnprocessed: false))
    }
  }

  /// Whether a POST is sent again after its first exchange has ended like this. Its response is passed to `check`.
  private func isSentAgain(
    _ repeats: RetryPolicy.Repeats, after end: (ScriptedExchange) -> Void, check: (Responses) throws -> Void
  ) throws -> Bool {
    let bench = try Bench()
    let responses = Responses()
    var request = try request(bench, RetryPolicy(attempts: 2, backoff: .constant(.seconds(1)), repeats: repeats))
    request.method = .post
    bench.send(request, into: responses)
    end(try #require(bench.transport.takeStarted()))
    bench.clock.advance(by: .seconds(2))
    let again = bench.transport.takeStarted()
    again?.respond(200)
    try check(responses)
    return again != nil
  }

  @Test("a POST is sent again after 429, and after 503 only if told")
  func posts() throws {
    for (status, repeats, expected) in [
      (429, RetryPolicy.Repeats.unprocessed, true), (425, .unprocessed, true), (503, .unprocessed, false),
      (500, .unprocessed, false), (429, .idempotent, false), (503, .all, true),
    ] {
      let isSentAgain = try isSentAgain(repeats) {
        $0.respond(status)
      } check: { responses throws in
        #expect(try responses.last?.get().statusCode == (expected ? 200 : status))
      }
      #expect(isSentAgain == expected, "\(status) \(repeats)")
    }
  }

  @Test("C21 421 is followed once by the same request on a new connection, whatever the method, and then by the policy")
  func misdirected() throws {
    for (policy, sends) in [(RetryPolicy?.none, 2), (RetryPolicy(attempts: 1), 1), (RetryPolicy(attempts: 3), 4)] {
      let bench = try Bench()
      let responses = Responses()
      var request = try bench.request()
      (request.method, request.retry) = (.post, policy)
      bench.send(request, into: responses)
      var isNew: [Bool] = []
      while responses.count == 0 {
        guard let exchange = bench.transport.takeStarted() else {
          bench.clock.advance(by: .seconds(60))
          continue
        }
        isNew.append(exchange.exchange.needsNewConnection)
        exchange.respond(421)
      }
      #expect(try responses.last?.get().statusCode == 421)
      // Each attempt is repeated once, as long as there are attempts.
      #expect(isNew.prefix(2) == [false, true].prefix(sends) && isNew.count <= sends, "\(isNew)")
      #expect(bench.isClean())
    }
  }

  @Test("a POST is sent again if no connection was made, and if its response was lost only if told")
  func failedPosts() throws {
    for (failure, wasSent, repeats, expected) in [
      (DispatchError(.connectFailed, phase: .connecting), true, RetryPolicy.Repeats.unprocessed, true),
      (DispatchError(.connectionLost, phase: .securing), true, .unprocessed, true),
      (DispatchError(.connectionLost, phase: .awaitingHead), true, .unprocessed, false),
      (DispatchError(.connectionLost, phase: .awaitingHead), false, .unprocessed, true),
      (DispatchError(.connectionLost), true, .unprocessed, false),
      (DispatchError(.connectFailed, phase: .connecting), true, .idempotent, false),
      (DispatchError(.connectionLost, phase: .awaitingHead), false, .idempotent, false),
      (DispatchError(.connectionLost, phase: .awaitingHead), true, .all, true),
    ] {
      let isSentAgain = try isSentAgain(repeats) {
        // What ends while it waits for a socket was not sent.
        if !wasSent { $0.startSocketWait() }
        $0.end(failure)
      } check: {
        #expect($0.last?.error?.code == (expected ? nil : failure.code))
      }
      #expect(isSentAgain == expected, "\(failure.code) \(failure.phase) \(wasSent) \(repeats)")
    }
  }

  @Test("D81 many simultaneous failures return one by one, within the budget")
  func storm() throws {
    let bench = try Bench(requests: 20)
    let responses = Responses()
    let budget = RetryBudget(ratio: 0, reserve: 5, limit: 5)
    let policy = RetryPolicy(attempts: 3, backoff: Backoff(first: .seconds(8)), budget: .shared(budget))
    for _ in 0..<20 { bench.send(try request(bench, policy), into: responses) }
    for _ in 0..<20 { bench.transport.takeStarted()?.respond(429) }
    #expect(responses.count == 15)
    // With full jitter they return at different times.
    var moments = 0
    for _ in 0..<8000 {
      bench.clock.advance(by: .milliseconds(1))
      var came = 0
      while let exchange = bench.transport.takeStarted() {
        came += 1
        exchange.respond()
      }
      if came > 0 { moments += 1 }
    }
    #expect(moments >= 2)
    #expect(responses.count == 20)
    #expect(bench.isClean())
  }

  @Test("the deadline covers all attempts: a pause that would exceed it is not begun")
  func deadline() throws {
    let bench = try Bench()
    let responses = Responses()
    var request = try request(bench)
    request.deadline = .seconds(3)
    bench.send(request, into: responses)
    bench.transport.takeStarted()?.respond(503)
    bench.clock.advance(by: .seconds(2))
    bench.transport.takeStarted()?.respond(503)
    #expect(try responses.last?.get().statusCode == 503)
    #expect(bench.isClean())
  }

  @Test("the timeout counts the running time of all attempts, and no pause")
  func timeout() throws {
    let bench = try Bench()
    let responses = Responses()
    var request = try request(bench)
    request.timeout = .seconds(3)
    bench.send(request, into: responses)
    bench.clock.advance(by: .seconds(2))
    bench.transport.takeStarted()?.respond(503)
    bench.clock.advance(by: .seconds(2))
    #expect(bench.counts.running == 1)
    bench.clock.advance(by: .milliseconds(999))
    #expect(responses.count == 0)
    bench.clock.advance(by: .milliseconds(1))
    #expect(responses.last?.code == .timedOut)
    _ = bench.transport.takeStarted()
    #expect(bench.isClean())
  }

  @Test("a cancellation during the pause ends it at once, by its handle, its tag or its end-point")
  func cancel() throws {
    for way in 0..<3 {
      let bench = try Bench()
      let responses = Responses()
      var request = try request(bench)
      request.tag = "t"
      let operation = bench.send(request, into: responses)
      bench.transport.takeStarted()?.respond(503)
      #expect(bench.clock.pendingCount == 1)
      switch way {
      case 0: operation.cancel()
      case 1: #expect(bench.dispatcher.cancelAll(tag: "t") == 1)
      default: #expect(bench.dispatcher.cancelAll(to: request.endPoint) == 1)
      }
      #expect(responses.last?.code == .cancelled)
      #expect(responses.last?.error?.phase == .waiting)
      #expect(bench.isClean())
      #expect(bench.dispatcher.cancelAll(tag: "t") == 0)
    }
  }

  @Test(
    "a shutdown ends pauses, also at a gate that stays open",
    arguments: [ShutdownMode.drain, .graceful, .now], [false, true])
  func shutdown(mode: ShutdownMode, isShared: Bool) async throws {
    let bench = try Bench()
    let transport = isShared ? ScriptedTransport() : bench.transport
    let dispatcher =
      isShared ? URLDispatcher(transport: transport, sharing: bench.dispatcher.gate) : bench.dispatcher
    let responses = Responses()
    dispatcher.dispatch(try request(bench)) { responses.add($0) }
    transport.takeStarted()?.respond(503)
    await dispatcher.shutDown(mode)
    #expect(responses.values.map(\.code) == [.shutDown])
    #expect(bench.isClean())
  }

  @Test("a cancellation at the start of the pause leaves nothing behind")
  func cancelledOnTheWay() async throws {
    let clock = MeddlingClock()
    let transport = ScriptedTransport()
    let dispatcher = URLDispatcher(transport: transport, timers: clock)
    let responses = Responses()
    var request = try DispatchRequest("http://a/")
    request.retry = Self.always
    let operation = dispatcher.dispatch(request) { responses.add($0) }
    // The exchange's time limit is removed before the pause begins.
    clock.meddle { operation.cancel() }
    (try #require(transport.takeStarted())).respond(503)
    #expect(responses.values.map(\.code) == [.cancelled])
    #expect(dispatcher.gate.outside.isEmpty)
    #expect(clock.manual.pendingCount == 0)
    await dispatcher.shutDown()
  }

  @Test("failures while the dispatcher is closing are not retried")
  func closesMeanwhile() async throws {
    let bench = try Bench()
    let responses = Responses()
    bench.send(try request(bench), into: responses)
    let exchange = try #require(bench.transport.takeStarted())
    bench.dispatcher.beginShutDown(.drain)
    exchange.respond(503)
    #expect(try responses.last?.get().statusCode == 503)
    #expect(responses.count == 1)
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("a redirect is followed by attempts at its target, and those by redirects")
  func redirects() throws {
    let bench = try Bench()
    let responses = Responses()
    bench.send(try request(bench), into: responses)
    bench.transport.takeStarted()?.respond(302, [.location: "http://b/"])
    bench.transport.takeStarted()?.respond(503)
    bench.clock.advance(by: .seconds(2))
    let again = try #require(bench.transport.takeStarted())
    #expect(again.request.url == "http://b/")
    again.respond(302, [.location: "/c"])
    let last = try #require(bench.transport.takeStarted())
    #expect(last.request.url == "http://b/c")
    last.respond()
    #expect(try responses.last?.get().times.attempts == 2)
    #expect(bench.isClean())
  }

  @Test("a transport that fails inside its start is retried by the policy, without stack growth")
  func synchronousFailures() throws {
    let count = LockedBox(0)
    let transport = ScriptedTransport { exchange in
      count.withLock { $0 += 1 }
      exchange.end(DispatchError(.connectFailed))
    }
    let bench = try Bench(transport: transport)
    let responses = Responses()
    bench.send(try request(bench, RetryPolicy(attempts: 1000, backoff: .none, budget: .none)), into: responses)
    bench.clock.advance(by: .seconds(1))
    #expect(count.withLock { $0 } == 1000)
    #expect(responses.last?.code == .connectFailed)
    #expect(bench.isClean())
  }

  @Test(
    "Retry-After: seconds and dates are read, and nothing else",
    arguments: [
      ("0", 0), ("120", 120), ("Sun, 06 Nov 1994 08:49:37 GMT", 37), ("Sun, 06 Nov 1994 08:48:59 GMT", 0),
      ("Mon, 06 Nov 1995 08:49:00 GMT", 365 * 86400), ("Thu, 29 Feb 1996 08:49:00 GMT", 480 * 86400),
      ("99999999999999999999", Int(Int32.max)), ("", nil), ("-1", nil), ("soon", nil), ("1.5.5", nil), (".", nil),
      ("4.0", 4),
      ("Sun Nov  6 08:49:37 1994", 37), ("Sunday, 06-Nov-94 08:49:37 GMT", 37), ("Sunday, 06-Nov-45 08:49:37 GMT", 0),
      ("Sun Nov  6 08:49:37 94", nil), ("Sunday, 06-Nov-1994 08:49:37 GMT", nil),
      ("Sun, 06 Nov 1994 25:49:37 GMT", nil), ("Sun, 06 Foo 1994 08:49:37 GMT", nil),
    ])
  func retryAfterValues(value: String, seconds: Int?) {
    // The time is Sun, 06 Nov 1994 08:49:00 GMT.
    let wait = RateLimitFields.standard.wait({ 784_111_740 }) { $0 == .retryAfter ? value : nil }
    #expect(wait == seconds.map { Duration.seconds($0) })
  }

  @Test("Retry-After: a date counts from the response's own Date")
  func retryAfterClock() {
    for (date, seconds) in [("Sun, 06 Nov 1994 08:49:33 GMT", 4), ("Sun, 06 Nov 1994 08:49:39 GMT", 0), ("soon", 0)] {
      let head = ResponseHead(
        statusCode: 429, headerFields: [.date: date, .retryAfter: "Sun, 06 Nov 1994 08:49:37 GMT"])
      #expect(RateLimitFields.standard.wait(of: head) == .seconds(seconds))
    }
  }

  @Test("without a policy nothing is retried")
  func noPolicy() throws {
    let bench = try Bench()
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    bench.transport.takeStarted()?.respond(503)
    #expect(try responses.last?.get().statusCode == 503)
    #expect(try responses.last?.get().times.attempts == 1)
  }
}

/// A manual clock that runs an action of the test when a timer is removed, once.
private final class MeddlingClock: TimerService {
  let manual = ManualClock()
  private let action = Locked<(@Sendable () -> Void)?>(nil)

  var now: Deadline { manual.now }

  func meddle(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    manual.schedule(at: deadline, action)
  }

  func cancel(_ timer: ScheduledTimer) -> Bool {
    action.withLock { $0.take() }?()
    return manual.cancel(timer)
  }
}
