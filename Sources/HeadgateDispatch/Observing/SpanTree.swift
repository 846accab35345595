import HeadgateThreads

/// The spans of one request as a value: what happens goes in, its observers are called, each start with its end.
///
/// What happens may be told by several threads, an end among them, so anything may come after anything: what has no place
/// any more is passed over, and what is open is closed before the next.
struct SpanTree {
  /// What happened.
  enum Event {
    case waits(EndPoint, WaitingStart.Reason)
    case rests(EndPoint, Duration)
    case intercepts(EndPoint, InterceptingStart.Reason)
    /// Nil: the request is still the last one that was told of, at first the one that was submitted.
    case sends(ObservedRequest?, resends: Int, limit: Int)
    case head(Int)
    case exchangeOver(DispatchError?, ExchangeTimes)
    case over(DispatchError?, DispatchTimes)
  }

  private enum Open {
    case nothing
    case waiting
    case resting
    case intercepting
    case awaitingHead
    case receiving
    case over
  }

  private var open = Open.nothing
  private var latest: Deadline
  private var request: ObservedRequest
  // Of the exchange that is open; its request is the one above.
  private var sent = (resends: 0, limit: 0, at: Deadline.distantPast)
  private var statusCode: Int?
  private var exchanges = 0

  /// The spans of a request that begins.
  init(_ request: ObservedRequest, at moment: Deadline) {
    self.request = request
    latest = moment
  }

  /// Tells what follows from an event, in order.
  ///
  /// - Parameters:
  ///   - event: What happened.
  ///   - present: The moment of the event. Two threads that read the clock one after the other may come in the other
  ///     order: no span ends before it began.
  ///   - observers: Who is told.
  /// - Returns: Whether that was the last call.
  mutating func apply(_ event: Event, at present: Deadline, telling observers: [any RequestObserver]) -> Bool {
    if case .over = open { return false }
    latest = max(latest, present)
    switch event {
    case .waits(let endPoint, let reason):
      close(nil, observers)
      open = .waiting
      for observer in observers {
        observer.waitingStarted(WaitingStart(endPoint: endPoint, reason: reason, at: latest))
      }
    case .rests(let endPoint, let duration):
      close(nil, observers)
      open = .resting
      for observer in observers {
        observer.restingStarted(RestingStart(endPoint: endPoint, duration: duration, at: latest))
      }
    case .intercepts(let endPoint, let reason):
      close(nil, observers)
      open = .intercepting
      for observer in observers {
        observer.interceptingStarted(InterceptingStart(endPoint: endPoint, reason: reason, at: latest))
      }
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
      // A second head of one exchange has nothing to close.
      guard case .awaitingHead = open else { return false }
      open = .receiving
      statusCode = status
      for observer in observers { observer.awaitingHeadEnded(end(nil)) }
      for observer in observers { observer.receivingStarted(at: latest) }
    case .exchangeOver(let error, let times): closeExchange(error, times, observers)
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

  private func end(_ error: DispatchError?) -> SpanEnd { SpanEnd(error: error, statusCode: statusCode, at: latest) }

  private mutating func close(_ error: DispatchError?, _ observers: [any RequestObserver]) {
    switch open {
    case .nothing, .over: break
    case .waiting:
      for observer in observers { observer.waitingEnded(SpanEnd(error: error, statusCode: nil, at: latest)) }
    case .resting:
      for observer in observers { observer.restingEnded(SpanEnd(error: error, statusCode: nil, at: latest)) }
    case .intercepting:
      for observer in observers { observer.interceptingEnded(SpanEnd(error: error, statusCode: nil, at: latest)) }
    case .awaitingHead, .receiving: closeExchange(error, ExchangeTimes(), observers)
    }
    open = .nothing
  }

  private mutating func closeExchange(
    _ error: DispatchError?, _ times: ExchangeTimes, _ observers: [any RequestObserver]
  ) {
    switch open {
    case .awaitingHead: for observer in observers { observer.awaitingHeadEnded(end(error)) }
    case .receiving: for observer in observers { observer.receivingEnded(end(error)) }
    case .nothing, .waiting, .resting, .intercepting, .over: return
    }
    open = .nothing
    let report = ExchangeReport(start: exchange, error: error, statusCode: statusCode, times: times, at: latest)
    for observer in observers { observer.exchangeEnded(report) }
  }
}
