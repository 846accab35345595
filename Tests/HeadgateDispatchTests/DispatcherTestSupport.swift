import HTTPTypes
import HeadgateDispatch
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Logging
import Testing

/// Collects results of callbacks, so that a test can count them and wait for them.
final class Outcomes<Value: Sendable>: Sendable {
  private struct State {
    var values: [Value] = []
    var waiters: [(count: Int, go: @Sendable () -> Void)] = []
  }

  private let state = Locked(State())

  var values: [Value] { state.withLock { $0.values } }
  var count: Int { state.withLock { $0.values.count } }
  var last: Value? { state.withLock { $0.values.last } }

  /// The values since the last call.
  func takeAll() -> [Value] {
    state.withLock { state in
      defer { state.values = [] }
      return state.values
    }
  }

  func add(_ value: Value) {
    let ready = state.withLock { state in
      state.values.append(value)
      let ready = state.waiters.filter { $0.count <= state.values.count }
      state.waiters.removeAll { $0.count <= state.values.count }
      return ready
    }
    for waiter in ready { waiter.go() }
  }

  func wait(for count: Int) async {
    await withContinuation { continuation in
      let isReady = state.withLock { state in
        if state.values.count >= count { return true }
        state.waiters.append((count, { continuation.resume() }))
        return false
      }
      if isReady { continuation.resume() }
    }
  }
}

typealias Responses = Outcomes<Result<DispatchResponse, DispatchError>>

extension Result where Failure == DispatchError {
  var code: DispatchError.Code? {
    if case .failure(let error) = self { return error.code }
    return nil
  }

  var error: DispatchError? {
    if case .failure(let error) = self { return error }
    return nil
  }
}

/// A dispatcher over a transport and a clock that the test controls.
struct Bench {
  let clock: ManualClock
  let transport: ScriptedTransport
  let dispatcher: URLDispatcher
  /// Checks in every test the promises made to observers.
  let recording = RecordingObserver()

  /// - Parameters:
  /// - observers: The observers of its requests, instead of the recording observer.
  /// - interceptors: Its interceptors.
  /// - pauses: The policy by which a refusal pauses the end-point. None by default, since most tests use a single
  /// request.
  /// - breaker: The policy by which an unreachable end-point is suspended.
  /// - rates: The rates of each end-point.
  /// - state: What outlives it.
  /// - fields: The fields in which servers state waits and quotas.
  init(
    requests: Int = 2, long: Int? = nil, total: Int = 100, waiting: Int = 1000, overflow: OverflowPolicy = .refuse,
    transport: ScriptedTransport = ScriptedTransport(), observers: [any DispatchObserver]? = nil,
    interceptors: [any RequestInterceptor] = [], clock: ManualClock = ManualClock(), pauses: PausePolicy? = nil,
    breaker: BreakerPolicy? = nil, rates: [Rate] = [], state: GateState? = nil, fields: RateLimitFields = .standard
  ) throws {
    self.transport = transport
    self.clock = clock
    var limits = try GateLimits(
      endPoint: EndPointLimits(requests: requests, long: long, rates: rates), total: total, waiting: waiting,
      overflow: overflow)
    (limits.pauses, limits.breaker) = (pauses, breaker)
    // Many tests use the same host at the same time, each with its own gate.
    dispatcher = URLDispatcher(
      transport: transport, limits: limits, timers: clock, logger: .silent, observers: observers ?? [recording],
      interceptors: interceptors, state: state, rateLimitFields: fields)
  }

  var counts: GateCounts { dispatcher.gate.counts }

  func request(_ path: String = "/", host: String = "a") throws -> DispatchRequest {
    try DispatchRequest("http://\(host)\(path)")
  }

  /// Submits a request and collects its result.
  @discardableResult
  func send(_ request: DispatchRequest, into responses: Responses) -> URLDispatchOperation {
    dispatcher.dispatch(request) { responses.add($0) }
  }

  /// Whether nothing is left behind, checked at the end of a test. Anything left is reported.
  func isClean() -> Bool {
    let timers = clock.pendingCount
    if timers != 0 { Issue.record("left behind, timers: \(timers)") }
    return isCleanButForTimers() && timers == 0
  }

  /// As `isClean`, if requests are started by a task. Its thread may still be at a timer that it sets and removes
  /// because the exchange is over. Waits briefly for that.
  func isCleanAtLast() async -> Bool {
    let clock = clock
    do {
      try await withDeadline(.now + .seconds(60), losers: .abandon) { try await clock.timers(atMost: 0) }
    } catch {
      Issue.record("left behind, timers: \(clock.pendingCount)")
      return false
    }
    // The timers are not counted again: that thread may be about to set the one that it removes.
    return isCleanButForTimers()
  }

  private func isCleanButForTimers() -> Bool {
    let left: [(String, Bool)] = [
      ("running: \(counts.running)", counts.running != 0),
      ("waiting: \(counts.waiting)", counts.waiting != 0),
      ("end-points: \(counts.endPoints)", counts.endPoints != 0),
      ("of the transport: \(transport.violations)", !transport.violations.isEmpty),
      ("of the observers: \(recording.violations)", !recording.violations.isEmpty),
      ("unfinished for observers: \(recording.unfinished)", recording.unfinished != 0),
    ]
    for (text, isLeft) in left where isLeft { Issue.record("left behind, \(text)") }
    return left.allSatisfy { !$0.1 }
  }
}

extension Logger {
  /// Keeps the messages to itself.
  static var silent: Logger { Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() } }
}

/// Keeps the log of one test.
final class LogBook: Sendable {
  let lines = Outcomes<String>()

  func logger() -> Logger {
    let lines = lines
    return Logger(label: "test") { _ in Handler(lines: lines) }
  }

  private struct Handler: LogHandler {
    let lines: Outcomes<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.add(event.message.description) }
  }
}

/// A million in release builds. In debug builds, which check every rule after every event, a fiftieth of that.
#if DEBUG
let many = 20_000
#else
let many = 1_000_000
#endif
