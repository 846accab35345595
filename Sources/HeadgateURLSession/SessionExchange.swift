import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One exchange under way: the dispatcher's hold on a task of the session.
///
/// The session's delegate calls come one at a time, on its queue; `cancel` and `resume` from anywhere.
final class SessionExchange: ExchangeControl {
  private struct State: Sendable {
    var task: URLSessionTask?
    var isCancelled = false
    var isOver = false
    // There is never more than one suspension: whether they are counted is the system's.
    var isSuspended = false
    // Calls of `resume`. One may overtake the pause that it answers, and that one must not be begun any more.
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
    // Under the lock, as in `suspend`: the two reach the session in the order that they are decided in.
    state.withLock { state in
      state.resumes += 1
      guard state.isSuspended else { return }
      state.isSuspended = false
      state.task?.resume()
    }
  }

  // MARK: The session's side

  /// So many bytes of the body have been sent in all. Told again from the start where the session sends it anew.
  func sent(_ total: Int64) {
    let more = state.withLock { state in
      defer { state.sent = max(state.sent, total) }
      return max(0, total - state.sent)
    }
    body?.sent(Int(more))
  }

  // The session tells of the last bytes late or never. A server that answers well has them.
  private func sentAll(_ status: Int) { if status < 300 { body?.sentAll() } }

  /// Answers the session's question about a redirect.
  ///
  /// Foundation on Linux stops the process when an answer comes to a task that was cancelled: there such a task gets none,
  /// and ends without. Under the lock, so that an answer and a cancel reach the session one after the other; it does no more
  /// than to queue itself there. Apple's systems want every question answered.
  func answer(_ answer: () -> Void) {
    #if canImport(FoundationNetworking)
    state.withLock { if !$0.isCancelled { answer() } }
    #else
    answer()
    #endif
  }

  /// The head has come. False: the rest is not wanted.
  func received(_ response: URLResponse) -> Bool {
    guard let response = response as? HTTPURLResponse else {
      fail(DispatchError(.badResponse, phase: .awaitingHead))
      return false
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
      // A pause holds for all that follows: the session has no smaller unit than what it brought.
      if !region.withUnsafeBytes({ bytes in tell { events.received(bytes) } }) { return }
    }
  }

  /// Tells what came, and does what the answer says. False: nothing more is wanted.
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

  // Not on Linux, where Foundation takes a suspended task off its connection and sends the request anew when the task goes
  // on, and stops the process when that comes in the moment of the task's end. What nobody reads yet goes into memory there.
  #if canImport(FoundationNetworking)
  private static let canSuspend = false
  #else
  private static let canSuspend = true
  #endif

  /// Has the session ask the socket for no more.
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

  func ended(_ error: (any Error)?) { end(error.map { DispatchError($0, phase: phase) }) }

  /// Tells of the end, once.
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
  /// What the session says, in the dispatcher's words.
  init(_ error: any Error, phase: Phase) {
    guard let failure = error as? URLError else {
      self.init(.transportFailed, phase: phase, detail: error.localizedDescription, underlying: error)
      return
    }
    let (code, phase): (Code, Phase) =
      switch failure.code {
      case .cancelled: (.cancelled, phase)
      case .cannotFindHost, .dnsLookupFailed: (.nameNotResolved, .name)
      case .cannotConnectToHost, .notConnectedToInternet: (.connectFailed, .connecting)
      case .networkConnectionLost: (.connectionLost, phase == .connecting ? .awaitingHead : phase)
      case .timedOut: (.connectTimedOut, phase)
      case .badServerResponse, .cannotParseResponse, .cannotDecodeRawData, .cannotDecodeContentData:
        (.badResponse, phase == .connecting ? .awaitingHead : phase)
      case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
        .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
        .clientCertificateRequired:
        (.tlsFailed, .securing)
      // What Foundation on Linux says of a body that breaks off.
      case .unknown where phase == .receiving: (.connectionLost, phase)
      case .badURL, .unsupportedURL: (.invalidURL, phase)
      default: (.transportFailed, phase)
      }
    self.init(code, phase: phase, detail: failure.localizedDescription, underlying: failure)
  }
}
