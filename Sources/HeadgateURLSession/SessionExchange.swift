import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An exchange under way, which controls a task of the session.
///
/// The session's delegate calls come one at a time, on its queue; `cancel` and `resume` come from any thread.
final class SessionExchange: ExchangeControl {
  private struct State: Sendable {
    var task: URLSessionTask?
    var isCancelled = false
    var isOver = false
    // At most one suspension: it depends on the system whether suspensions are counted.
    var isSuspended = false
    // The number of calls of `resume`. One may come before the pause that it answers, and then the pause must not
    // begin.
    var resumes = 0
    var phase = DispatchError.Phase.connecting
    var times = ExchangeTimes()
    var sent: Int64 = 0
  }

  private let events: any ExchangeEvents
  private let body: RequestBodySource?
  private let started = Deadline.now
  private let state = Locked(State())

  init(_ exchange: Exchange, _ events: any ExchangeEvents) {
    self.events = events
    body = exchange.body
  }

  var phase: DispatchError.Phase { state.withLock { $0.phase } }

  func attach(_ task: URLSessionTask) {
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  func cancel() {
    let task = state.withLock { state in
      state.isCancelled = true
      return state.task
    }
    task?.cancel()
  }

  func resume() {
    // Under the lock, as in `suspend`, so that both reach the session in the order in which they were decided.
    state.withLock { state in
      state.resumes += 1
      guard state.isSuspended else { return }
      state.isSuspended = false
      state.task?.resume()
    }
  }

  // MARK: The session's side

  /// The total number of body bytes sent. Restarts from zero if the session sends the body again.
  func sent(_ total: Int64) {
    let more = state.withLock { state in
      defer { state.sent = max(state.sent, total) }
      return max(0, total - state.sent)
    }
    body?.sent(Int(more))
  }

  // The session reports the last bytes late or never. A server that responds with success has received them.
  private func sentAll(_ status: Int) { if status < 300 { body?.sentAll() } }

  /// Answers the session's question about a redirect.
  ///
  /// Foundation on Linux traps when a cancelled task gets an answer. So a cancelled task gets none there, and ends
  /// without one. The answer is given under the lock, to order it with a cancel; inside the session it only enqueues
  /// work. Apple's systems require an answer to every question.
  func answer(_ answer: () -> Void) {
    #if canImport(FoundationNetworking)
    state.withLock { if !$0.isCancelled { answer() } }
    #else
    answer()
    #endif
  }

  /// The head has arrived. Returns false if the rest is not needed.
  func received(_ response: URLResponse) -> Bool {
    guard let response = response as? HTTPURLResponse else {
      fail(DispatchError(.badResponse, phase: .awaitingHead))
      return false
    }
    // Foundation on Linux reports interim responses too.
    if (100..<200).contains(response.statusCode), response.statusCode != 101 {
      events.receivedActivity()
      return true
    }
    sentAll(response.statusCode)
    let elapsed = Deadline.now - started
    let isWanted = state.withLock { state in
      state.phase = .receiving
      state.times.firstByte = elapsed
      return !state.isCancelled
    }
    return isWanted && tell { events.received(ResponseHead(response)) }
  }

  func received(_ data: Data) {
    for region in data.regions {
      guard !state.withLock({ $0.isCancelled }) else { return }
      // A pause takes effect after all regions of `data`: the session has no smaller unit.
      if !region.withUnsafeBytes({ bytes in tell { events.received(bytes) } }) { return }
    }
  }

  /// Reports an event and applies the result. Returns false if nothing more is needed.
  private func tell(_ call: () -> BodyFlow) -> Bool {
    let resumes = state.withLock { $0.resumes }
    switch call() {
    case .more: return true
    case .pause:
      suspend(unlessResumedSince: resumes)
      return true
    case .abort:
      cancel()
      return false
    }
  }

  // Not on Linux: there Foundation removes a suspended task from its connection, sends the request again when the
  // task is resumed, and traps if the resume coincides with the task's end. On Linux the unread data goes into
  // memory.
  #if canImport(FoundationNetworking)
  private static let canSuspend = false
  #else
  private static let canSuspend = true
  #endif

  /// Makes the session stop reading the socket.
  private func suspend(unlessResumedSince resumes: Int) {
    state.withLock { state in
      guard Self.canSuspend, !state.isSuspended, state.resumes == resumes else { return }
      state.isSuspended = true
      state.task?.suspend()
    }
  }

  private func fail(_ error: DispatchError) {
    cancel()
    end(error)
  }

  func add(_ times: ExchangeTimes) {
    state.withLock { state in
      (state.times.name, state.times.connect, state.times.tls) = (times.name, times.connect, times.tls)
    }
  }

  func ended(_ error: (any Error)?) {
    let (isCancelled, phase) = state.withLock { ($0.isCancelled, $0.phase) }
    if let error { return end(DispatchError(error, phase: phase)) }
    guard phase != .receiving, !isCancelled else { return end(nil) }
    // After an interim response, Foundation on Linux drops the head of a redirect.
    let reason = "Foundation does not deliver a redirect after an interim response: use another transport"
    end(DispatchError(.badResponse, phase: .awaitingHead, detail: reason))
  }

  /// Reports the end, once.
  func end(_ failure: DispatchError?) {
    let elapsed = Deadline.now - started
    let times = state.withLock { state -> ExchangeTimes? in
      guard !state.isOver else { return nil }
      state.isOver = true
      state.task = nil
      state.times.total = elapsed
      return state.times
    }
    if let times { events.ended(ExchangeEnd(failure: failure, times: times)) }
  }
}

extension ResponseHead {
  init(_ response: HTTPURLResponse) {
    var fields = HTTPFields()
    for (name, value) in response.allHeaderFields {
      guard let name = HTTPField.Name("\(name)") else { continue }
      fields.append(HTTPField(name: name, value: "\(value)"))
    }
    self.init(statusCode: response.statusCode, headerFields: fields)
  }
}

extension DispatchError {
  /// Maps the session's error to a `DispatchError`.
  init(_ error: any Error, phase: Phase) {
    guard let failure = error as? URLError else {
      self.init(.transportFailed, phase: phase, detail: error.localizedDescription, underlyingError: error)
      return
    }
    let (code, phase): (Code, Phase) =
      switch failure.code {
      #if canImport(FoundationNetworking)
      // Foundation on Linux reports these if the server closes without a response, or speaks another protocol.
      case .badServerResponse: (.connectionLost, phase == .connecting ? .awaitingHead : phase)
      case .unsupportedURL: (.badResponse, .awaitingHead)
      #else
      case .badServerResponse: (.badResponse, phase == .connecting ? .awaitingHead : phase)
      case .unsupportedURL: (.invalidURL, phase)
      #endif
      case .cancelled: (.cancelled, phase)
      case .cannotFindHost, .dnsLookupFailed: (.nameNotResolved, .name)
      case .cannotConnectToHost, .notConnectedToInternet: (.connectFailed, .connecting)
      case .networkConnectionLost: (.connectionLost, phase == .connecting ? .awaitingHead : phase)
      // The session's own timeouts are off, so it is one of TCP's.
      case .timedOut where phase == .receiving: (.connectionLost, phase)
      case .timedOut: (.connectTimedOut, phase)
      case .cannotParseResponse, .cannotDecodeRawData, .cannotDecodeContentData:
        (.badResponse, phase == .connecting ? .awaitingHead : phase)
      case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
        .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
        .clientCertificateRequired:
        (.tlsFailed, .securing)
      // Foundation on Linux reports this for a body that breaks off.
      case .unknown where phase == .receiving: (.connectionLost, phase)
      case .badURL: (.invalidURL, phase)
      default: (.transportFailed, phase)
      }
    self.init(code, phase: phase, detail: failure.localizedDescription, underlyingError: failure)
  }
}
