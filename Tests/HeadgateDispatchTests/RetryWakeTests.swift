import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// A clock that calls due timers before `schedule` returns, as may happen if another thread calls them. It can run an
/// action of the test first, once, as if the thread had been suspended there.
private final class LateClock: TimerService {
  let inside = ManualClock()
  private let action = Locked<(@Sendable () -> Void)?>(nil)

  var now: Deadline { inside.now }

  func suspend(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    self.action.withLock { $0.take() }?()
    let timer = inside.schedule(at: deadline, action)
    if deadline <= now { inside.advance(by: .zero) }
    return timer
  }

  func cancel(_ timer: ScheduledTimer) -> Bool { inside.cancel(ScheduledTimer(service: inside, key: timer.key)) }
}

/// A dispatcher with a late clock, and a request with a timeout of three seconds.
private struct LateBench {
  let clock = LateClock()
  let transport = ScriptedTransport()
  let dispatcher: URLDispatcher
  let responses = Responses()
  var request: DispatchRequest

  init() throws {
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 1))
    dispatcher = URLDispatcher(transport: transport, limits: limits, timers: clock, logger: .silent)
    request = try DispatchRequest("http://a/")
    request.timeout = .seconds(3)
  }

  /// Sends the request. Its timeout ends it after three seconds of what follows, not before, and leaves no timer.
  func sendUntilTimeout() {
    dispatcher.dispatch(request) { [responses] in responses.add($0) }
    #expect(responses.count == 0)
    clock.inside.advance(by: .milliseconds(2999))
    #expect(responses.count == 0)
    clock.inside.advance(by: .milliseconds(1))
    #expect(responses.values.map(\.code) == [.timedOut])
    #expect(clock.inside.pendingCount == 0)
    dispatcher.dispose()
  }
}

/// Timers that fire while their threads are elsewhere.
@Suite struct RetryWakeTests {
  @Test("a timeout whose thread is suspended before it sets the timer, during a wait for a socket, keeps its time")
  func lateTimeoutOfWait() throws {
    let bench = try LateBench()
    bench.clock.suspend { [bench] in
      let exchange = bench.transport.takeStarted()
      exchange?.startSocketWait()
      bench.clock.inside.advance(by: .milliseconds(3500))
      exchange?.endSocketWait()
    }
    bench.sendUntilTimeout()
  }

  @Test("a timeout whose thread is suspended before it sets the timer does not end the next attempt")
  func lateTimeout() throws {
    var bench = try LateBench()
    bench.request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(1)), budget: .none)
    bench.clock.suspend { [bench] in
      bench.transport.takeStarted()?.respond(503)
      bench.clock.inside.advance(by: .milliseconds(3500))
    }
    // The next attempt has its own timeout.
    bench.sendUntilTimeout()
  }

  @Test("a request that returns from a pause to a full queue is not refused, and has the age of its submission")
  func fullQueue() throws {
    let bench = try Bench(requests: 1, waiting: 1)
    let responses = Responses()
    var request = try bench.request("/first")
    request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(1)), budget: .none)
    bench.send(request, into: responses)
    (try #require(bench.transport.takeStarted())).respond(503)
    bench.send(try bench.request("/second"), into: responses)
    bench.send(try bench.request("/third"), into: responses)
    bench.clock.advance(by: .seconds(1))
    #expect(responses.count == 0)
    #expect(bench.counts.waiting == 2)
    // A newcomer is still refused.
    bench.send(try bench.request("/fourth"), into: responses)
    #expect(responses.last?.code == .refused)
    for path in ["/second", "/first", "/third"] {
      let exchange = try #require(bench.transport.takeStarted())
      #expect(exchange.request.url == "http://a" + path)
      exchange.respond()
    }
    #expect(responses.count == 4)
    #expect(bench.isClean())
  }

  @Test("an attempt that begins before its wake-up is recorded keeps its timeout, in any number of repetitions")
  func timeoutSurvives() throws {
    let (clock, transport) = (LateClock(), ScriptedTransport())
    var limits = try GateLimits()
    limits.pauses = nil
    let dispatcher = URLDispatcher(transport: transport, limits: limits, timers: clock, logger: .silent)
    var request = try DispatchRequest("http://a/")
    request.timeout = .seconds(10)
    request.retry = RetryPolicy(attempts: 4, backoff: .constant(.zero), budget: .none)
    let responses = Responses()
    _ = dispatcher.dispatch(request) { responses.add($0) }
    for _ in 0..<3 { (try #require(transport.takeStarted())).respond(503) }
    let last = try #require(transport.takeStarted())
    clock.inside.advance(by: .seconds(9))
    #expect(responses.count == 0)
    clock.inside.advance(by: .seconds(2))
    #expect(last.isCancelled)
    last.end(DispatchError(.cancelled))
    #expect(responses.last?.code == .timedOut)
    #expect(clock.inside.pendingCount == 0)
  }
}
