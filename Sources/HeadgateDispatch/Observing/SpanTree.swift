import HeadgateThreads

/// The spans of one request as a value: what happens goes in, the calls to its observers come out, each start with its
/// end.
///
/// What happens may be told by several threads, an end among them, so anything may come after anything: what has no place
/// any more is passed over, and what is open is closed before the next.
struct SpanTree {
  /// What happened.
  enum Event {
    case waits(EndPoint, WaitingStart.Reason)
    case rests(EndPoint, Duration)
    case intercepts(EndPoint, InterceptingStart.Reason)
    case sends(ObservedRequest, resends: Int, limit: Int)
    case head(Int)
    case exchangeOver(DispatchError?, ExchangeTimes)
    case over(DispatchError?, DispatchTimes)
  }

  /// What is to be told.
  enum Call {
    case waitingStarted(WaitingStart)
    case waitingEnded(SpanEnd)
    case restingStarted(RestingStart)
    case restingEnded(SpanEnd)
    case interceptingStarted(InterceptingStart)
    case interceptingEnded(SpanEnd)
    case exchangeStarted(ExchangeStart)
    case awaitingHeadStarted(Deadline)
    case awaitingHeadEnded(SpanEnd)
    case receivingStarted(Deadline)
    case receivingEnded(SpanEnd)
    case exchangeEnded(ExchangeReport)
    case requestEnded(RequestReport)
  }

  private enum Open {
    case nothing
    case waiting
    case resting
    case intercepting
    case awaitingHead(ExchangeStart)
    case receiving(ExchangeStart)
    case over
  }

  private var open = Open.nothing
  private var latest: Deadline
  private var request: ObservedRequest
  private var statusCode: Int?
  private var exchanges = 0

  /// The spans of a request that begins.
  init(_ request: ObservedRequest, at moment: Deadline) {
    self.request = request
    latest = moment
  }

  /// What follows from an event, in order.
  ///
  /// - Parameter present: The moment of the event. Two threads that read the clock one after the other may come in the
  ///   other order: no span ends before it began.
  mutating func apply(_ event: Event, at present: Deadline, to calls: inout [Call]) {
    if case .over = open { return }
    latest = max(latest, present)
    let moment = latest
    switch event {
    case .waits(let endPoint, let reason):
      close(nil, &calls)
      open = .waiting
      calls.append(.waitingStarted(WaitingStart(endPoint: endPoint, reason: reason, at: moment)))
    case .rests(let endPoint, let duration):
      close(nil, &calls)
      open = .resting
      calls.append(.restingStarted(RestingStart(endPoint: endPoint, duration: duration, at: moment)))
    case .intercepts(let endPoint, let reason):
      close(nil, &calls)
      open = .intercepting
      calls.append(.interceptingStarted(InterceptingStart(endPoint: endPoint, reason: reason, at: moment)))
    case .sends(let request, let resends, let limit):
      close(nil, &calls)
      let start = ExchangeStart(request: request, resends: resends, limit: limit, at: moment)
      open = .awaitingHead(start)
      self.request = request
      statusCode = nil
      exchanges += 1
      calls.append(.exchangeStarted(start))
      calls.append(.awaitingHeadStarted(moment))
    case .head(let status):
      // A second head of one exchange has nothing to close.
      guard case .awaitingHead(let start) = open else { return }
      open = .receiving(start)
      statusCode = status
      calls.append(.awaitingHeadEnded(end(nil)))
      calls.append(.receivingStarted(moment))
    case .exchangeOver(let error, let times): closeExchange(error, times, &calls)
    case .over(let error, let times):
      close(error, &calls)
      open = .over
      calls.append(
        .requestEnded(
          RequestReport(
            request: request, error: error, statusCode: statusCode, exchanges: exchanges, times: times, at: moment)))
    }
  }

  private func end(_ error: DispatchError?) -> SpanEnd { SpanEnd(error: error, statusCode: statusCode, at: latest) }

  private mutating func close(_ error: DispatchError?, _ calls: inout [Call]) {
    switch open {
    case .nothing, .over: break
    case .waiting: calls.append(.waitingEnded(SpanEnd(error: error, statusCode: nil, at: latest)))
    case .resting: calls.append(.restingEnded(SpanEnd(error: error, statusCode: nil, at: latest)))
    case .intercepting: calls.append(.interceptingEnded(SpanEnd(error: error, statusCode: nil, at: latest)))
    case .awaitingHead, .receiving: closeExchange(error, ExchangeTimes(), &calls)
    }
    open = .nothing
  }

  private mutating func closeExchange(_ error: DispatchError?, _ times: ExchangeTimes, _ calls: inout [Call]) {
    let exchange: ExchangeStart
    switch open {
    case .awaitingHead(let start):
      calls.append(.awaitingHeadEnded(end(error)))
      exchange = start
    case .receiving(let start):
      calls.append(.receivingEnded(end(error)))
      exchange = start
    case .nothing, .waiting, .resting, .intercepting, .over: return
    }
    open = .nothing
    calls.append(
      .exchangeEnded(
        ExchangeReport(start: exchange, error: error, statusCode: statusCode, times: times, at: latest)))
  }
}

extension SpanTree.Call {
  func tell(_ observer: any RequestObserver) {
    switch self {
    case .waitingStarted(let start): observer.waitingStarted(start)
    case .waitingEnded(let end): observer.waitingEnded(end)
    case .restingStarted(let start): observer.restingStarted(start)
    case .restingEnded(let end): observer.restingEnded(end)
    case .interceptingStarted(let start): observer.interceptingStarted(start)
    case .interceptingEnded(let end): observer.interceptingEnded(end)
    case .exchangeStarted(let start): observer.exchangeStarted(start)
    case .awaitingHeadStarted(let moment): observer.awaitingHeadStarted(at: moment)
    case .awaitingHeadEnded(let end): observer.awaitingHeadEnded(end)
    case .receivingStarted(let moment): observer.receivingStarted(at: moment)
    case .receivingEnded(let end): observer.receivingEnded(end)
    case .exchangeEnded(let report): observer.exchangeEnded(report)
    case .requestEnded(let report): observer.requestEnded(report)
    }
  }
}
