import HeadgateThreads

/// The spans of one request, as a value. Turns events into calls of observers, with an end for each start.
///
/// Several threads report events, including the end, so events may arrive in any order. An event that no longer fits is
/// ignored, and an open span is closed before the next begins.
struct SpanTree {
  /// An event.
  enum Event {
    case waits(EndPoint, WaitingStart.Reason)
    /// The request did not start at once. The reason is known only after the wait was reported.
    case waitsFor(WaitReason)
    case backsOff(EndPoint, Duration)
    case intercepts(EndPoint, InterceptingStart.Reason)
    /// A nil request means that it is still the last reported one, initially the submitted one.
    case sends(ObservedRequest?, resends: Int, limit: Int)
    case head(Int)
    case exchangeOver(DispatchError?, ExchangeTimes)
    case over(DispatchError?, DispatchTimes)
  }

  private enum Open {
    case nothing
    case waiting
    case backingOff
    case intercepting
    case awaitingHead
    case receiving
    case over
  }

  private var open = Open.nothing
  private var latest: Deadline
  private var request: ObservedRequest
  // The start of the open exchange; its request is the one above.
  private var sent = (resends: 0, limit: 0, at: Deadline.distantPast)
  private var statusCode: Int?
  private var waitReason: WaitReason?
  private var exchanges = 0

  /// Creates the spans of a new request.
  init(_ request: ObservedRequest, at moment: Deadline) {
    self.request = request
    latest = moment
  }

  /// Calls the observers for an event, in order.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - present: The time of the event. Two threads that read the clock in one order may arrive in the other, so times
  ///     are adjusted: no span ends before its start.
  ///   - observers: The observers to call.
  /// - Returns: Whether this was the last call.
  mutating func apply(_ event: Event, at present: Deadline, telling observers: [any RequestObserver]) -> Bool {
    if case .over = open { return false }
    latest = max(latest, present)
    switch event {
    case .waits(let endPoint, let reason):
      let start = WaitingStart(endPoint: endPoint, reason: reason, at: latest)
      begin(.waiting, observers) { $0.waitingStarted(start) }
    case .waitsFor(let reason): if case .waiting = open { waitReason = reason }
    case .backsOff(let endPoint, let duration):
      let start = BackoffStart(endPoint: endPoint, duration: duration, at: latest)
      begin(.backingOff, observers) { $0.backoffStarted(start) }
    case .intercepts(let endPoint, let reason):
      let start = InterceptingStart(endPoint: endPoint, reason: reason, at: latest)
      begin(.intercepting, observers) { $0.interceptingStarted(start) }
    case .sends(let request, let resends, let limit):
      close(nil, observers)
      open = .awaitingHead
      if let request { self.request = request }
      sent = (resends, limit, latest)
      statusCode = nil
      exchanges += 1
      for observer in observers { observer.exchangeStarted(exchange) }
      for observer in observers { observer.awaitingHeadStarted(at: latest) }
    case .head(let status):
      // A second head in one exchange closes nothing.
      guard case .awaitingHead = open else { return false }
      open = .receiving
      statusCode = status
      let end = SpanEnd(error: nil, statusCode: status, waitReason: nil, at: latest)
      for observer in observers { observer.awaitingHeadEnded(end) }
      for observer in observers { observer.receivingStarted(at: latest) }
    case .exchangeOver(let error, let times): if isInExchange { close(error, observers, times) }
    case .over(let error, let times):
      close(error, observers)
      open = .over
      let report = RequestReport(
        request: request, error: error, statusCode: statusCode, exchanges: exchanges, times: times, at: latest)
      for observer in observers { observer.requestEnded(report) }
      return true
    }
    return false
  }

  private var exchange: ExchangeStart {
    ExchangeStart(request: request, resends: sent.resends, limit: sent.limit, at: sent.at)
  }

  private var isInExchange: Bool { open == .awaitingHead || open == .receiving }

  /// Closes the open span, and begins another.
  private mutating func begin(
    _ span: Open, _ observers: [any RequestObserver], _ tell: (any RequestObserver) -> Void
  ) {
    close(nil, observers)
    open = span
    observers.forEach(tell)
  }

  /// Closes the open span and the exchange that contains it.
  private mutating func close(
    _ error: DispatchError?, _ observers: [any RequestObserver], _ times: ExchangeTimes = ExchangeTimes()
  ) {
    let end = SpanEnd(
      error: error, statusCode: isInExchange ? statusCode : nil, waitReason: waitReason.take(), at: latest)
    for observer in observers {
      switch open {
      case .nothing, .over: break
      case .waiting: observer.waitingEnded(end)
      case .backingOff: observer.backoffEnded(end)
      case .intercepting: observer.interceptingEnded(end)
      case .awaitingHead: observer.awaitingHeadEnded(end)
      case .receiving: observer.receivingEnded(end)
      }
    }
    let wasInExchange = isInExchange
    open = .nothing
    guard wasInExchange else { return }
    let report = ExchangeReport(start: exchange, error: error, statusCode: statusCode, times: times, at: latest)
    for observer in observers { observer.exchangeEnded(report) }
  }
}
