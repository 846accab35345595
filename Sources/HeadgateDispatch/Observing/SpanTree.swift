import HeadgateThreads

/// The spans of one request as a value: what happens goes in, its observers are called, each start with its end.
///
/// What happens may be told by several threads, an end among them, so anything may come after anything: what has no place
/// any more is passed over, and what is open is closed before the next.
struct SpanTree {
  /// What happened.
  enum Event {
    case waits(EndPoint, WaitingStart.Reason)
    /// It has not started at once: what for is known after it was told that it waits.
    case waitsFor(WaitReason)
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
  private var waitReason: WaitReason?
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
    case .waitsFor(let reason): if case .waiting = open { waitReason = reason }
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

  /// Ends what is open, and with it the exchange that it is a part of.
  private mutating func close(
    _ error: DispatchError?, _ observers: [any RequestObserver], _ times: ExchangeTimes = ExchangeTimes()
  ) {
    let end = SpanEnd(
      error: error, statusCode: isInExchange ? statusCode : nil, waitReason: waitReason.take(), at: latest)
    for observer in observers {
      switch open {
      case .nothing, .over: break
      case .waiting: observer.waitingEnded(end)
      case .resting: observer.restingEnded(end)
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
