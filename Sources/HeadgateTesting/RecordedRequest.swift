import HeadgateDispatch
import HeadgateThreads

/// The events of one request, and the violations of their rules.
public final class RecordedRequest: RequestObserver {
  /// The spans that can be open inside a request, outer ones first.
  private enum Span: String { case waiting, backoff, intercepting, exchange, head, body }

  private struct State {
    var calls: [String] = []
    var violations: [String] = []
    var open: [Span] = []
    var isInside = false
    var isOver = false
    var latest: Deadline
    var exchanges: [ExchangeReport] = []
    var waits: [(start: WaitingStart, end: SpanEnd)] = []
    var wait: WaitingStart?
    var end: RequestReport?
  }

  /// The start of the request.
  public let start: RequestStart

  private let state: Locked<State>
  private let onEnd: @Sendable () -> Void
  private let inside = Locked<(@Sendable (String) -> Void)?>(nil)

  /// Creates a recording of one request.
  ///
  /// - Parameters:
  ///   - start: The start of the request.
  ///   - onEnd: Called inside the last event.
  public init(_ start: RequestStart, onEnd: @escaping @Sendable () -> Void = {}) {
    self.start = start
    self.onEnd = onEnd
    state = Locked(State(latest: start.at))
  }

  /// The events in order, abbreviated: `+waiting`, `-waiting`, `-waiting cancelled`, `+exchange`, `-head 200`,
  /// `-request`.
  public var calls: [String] { state.withLock { $0.calls } }
  /// The violations of the rules for events.
  public var violations: [String] { state.withLock { $0.violations } }
  /// The exchanges that have ended.
  public var exchanges: [ExchangeReport] { state.withLock { $0.exchanges } }
  /// The waits that have ended, with their starts.
  public var waits: [(start: WaitingStart, end: SpanEnd)] { state.withLock { $0.waits } }
  /// The end of the request; nil until then.
  public var end: RequestReport? { state.withLock { $0.end } }

  /// Sets a closure that is called inside each later event, with its abbreviation, to act like an observer.
  public func onEvent(_ action: (@Sendable (String) -> Void)?) { inside.withLock { $0 = action } }

  // MARK: Events

  /// Records the event.
  public func waitingStarted(_ start: WaitingStart) {
    opens(.waiting, in: nil, at: start.at)
    state.withLock { $0.wait = start }
  }

  /// Records the event.
  public func waitingEnded(_ end: SpanEnd) {
    state.withLock { state in
      if let wait = state.wait.take() { state.waits.append((wait, end)) }
    }
    closes(.waiting, end)
  }

  /// Records the event.
  public func backoffStarted(_ start: BackoffStart) { opens(.backoff, in: nil, at: start.at) }
  /// Records the event.
  public func backoffEnded(_ end: SpanEnd) { closes(.backoff, end) }
  /// Records the event.
  public func interceptingStarted(_ start: InterceptingStart) { opens(.intercepting, in: nil, at: start.at) }
  /// Records the event.
  public func interceptingEnded(_ end: SpanEnd) { closes(.intercepting, end) }
  /// Records the event.
  public func exchangeStarted(_ start: ExchangeStart) { opens(.exchange, in: nil, at: start.at) }
  /// Records the event.
  public func awaitingHeadStarted(at moment: Deadline) { opens(.head, in: .exchange, at: moment) }
  /// Records the event.
  public func awaitingHeadEnded(_ end: SpanEnd) { closes(.head, end) }
  /// Records the event.
  public func receivingStarted(at moment: Deadline) { opens(.body, in: .exchange, at: moment) }
  /// Records the event.
  public func receivingEnded(_ end: SpanEnd) { closes(.body, end) }

  /// Records the event.
  public func exchangeEnded(_ report: ExchangeReport) {
    state.withLock { $0.exchanges.append(report) }
    closes(.exchange, report.error, report.statusCode, at: report.at)
  }

  /// Records the event.
  public func requestEnded(_ report: RequestReport) {
    told("-request" + Self.suffix(report.error, report.statusCode), at: report.at) { state in
      defer {
        state.isOver = true
        state.end = report
      }
      return state.open.isEmpty ? nil : "\(state.open) is open"
    }
    onEnd()
  }

  // MARK: The rules

  private func opens(_ span: Span, in outer: Span?, at moment: Deadline) {
    told("+\(span.rawValue)", at: moment) { state in
      defer { state.open.append(span) }
      return state.open.last == outer ? nil : "it starts inside \(state.open)"
    }
  }

  private func closes(_ span: Span, _ end: SpanEnd) { closes(span, end.error, end.statusCode, at: end.at) }

  private func closes(_ span: Span, _ error: DispatchError?, _ status: Int?, at moment: Deadline) {
    told("-\(span.rawValue)" + Self.suffix(error, status), at: moment) { state in
      guard state.open.last == span else { return "it ends inside \(state.open)" }
      state.open.removeLast()
      return nil
    }
  }

  private func told(_ call: String, at moment: Deadline, _ fault: (inout State) -> String?) {
    let action = inside.withLock { $0 }
    state.withLock { state in
      var faults: [String] = []
      if state.isInside { faults.append("another call has not returned") }
      if state.isOver { faults.append("the request has ended") }
      if moment < state.latest { faults.append("it is earlier than the previous call") }
      if let fault = fault(&state) { faults.append(fault) }
      state.latest = max(state.latest, moment)
      state.calls.append(call)
      state.isInside = true
      state.violations += faults.map { "request \(start.request.id): \(call): \($0), after \(state.calls)" }
    }
    action?(call)
    state.withLock { $0.isInside = false }
  }

  private static func suffix(_ error: DispatchError?, _ status: Int?) -> String {
    (error.map { " \($0.code)" } ?? "") + (status.map { " \($0)" } ?? "")
  }
}
