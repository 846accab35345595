import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Logging

/// Gathers results from callbacks, so that a test can count them and wait for them.
final class Outcomes<Value: Sendable>: Sendable {
  private struct State {
    var values: [Value] = []
    var waiters: [(count: Int, go: @Sendable () -> Void)] = []
  }

  private let state = Locked(State())

  var values: [Value] { state.withLock { $0.values } }
  var count: Int { state.withLock { $0.values.count } }
  var last: Value? { state.withLock { $0.values.last } }

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
    await withCheckedContinuation { continuation in
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

/// A dispatcher over a transport and a clock that the test moves.
struct Bench {
  let clock = ManualClock()
  let transport: ScriptedTransport
  let dispatcher: URLDispatcher
  /// Holds what every test does against what observers are promised.
  let recording = RecordingObserver()

  /// - Parameters:
  ///   - observers: Who hears of its requests, instead of the recording observer.
  ///   - interceptors: Who changes them.
  init(
    requests: Int = 2, long: Int? = nil, total: Int = 100, waiting: Int = 1000, overflow: OverflowPolicy = .refuse,
    transport: ScriptedTransport = ScriptedTransport(), observers: [any DispatchObserver]? = nil,
    interceptors: [any RequestInterceptor] = []
  ) throws {
    self.transport = transport
    let limits = try GateLimits(
      endPoint: EndPointLimits(requests: requests, long: long), total: total, waiting: waiting, overflow: overflow)
    // Many tests ask the same host at the same time, each through a gate of its own.
    dispatcher = URLDispatcher(
      transport: transport, limits: limits, timers: clock, logger: .silent, observers: observers ?? [recording],
      interceptors: interceptors)
  }

  var counts: GateCounts { dispatcher.gate.counts }

  func request(_ path: String = "/", host: String = "a") throws -> DispatchRequest {
    try DispatchRequest("http://\(host)\(path)")
  }

  /// Submits and gathers.
  @discardableResult
  func send(_ request: DispatchRequest, into responses: Responses) -> URLDispatchOperation {
    dispatcher.dispatchShort(request) { responses.add($0) }
  }

  /// Nothing is left behind: the last line of a test.
  func isClean() -> Bool {
    counts.running == 0 && counts.waiting == 0 && counts.endPoints == 0 && clock.pendingCount == 0
      && transport.violations.isEmpty && recording.violations.isEmpty && recording.unfinished == 0
  }
}

extension Logger {
  /// Keeps to itself what it is told.
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

/// A million in release builds; in debug builds, which check every rule after every event, a fiftieth of that.
#if DEBUG
let many = 20_000
#else
let many = 1_000_000
#endif
