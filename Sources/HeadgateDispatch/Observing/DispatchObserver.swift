import HeadgateThreads

/// Is notified of every request of a ``URLDispatcher`` when it begins, and chooses an observer for the rest of it.
///
///     let dispatcher = URLDispatcher(transport: transport, observers: [SlowRequests()])
///
/// Without observers a dispatcher has no overhead. See ``RequestObserver`` for the calls and their order.
public protocol DispatchObserver: Sendable {
  /// A request is about to be submitted. The first call for every request, on the submitting thread and in the
  /// submitting task.
  ///
  /// Called with no lock held; O(1) for the dispatcher. It must return soon, must not block, and should submit nothing
  /// to the same dispatcher, since that would be observed too.
  ///
  /// - Parameter start: The request. Header fields may be added to it.
  /// - Returns: The observer for the rest of this request. Nil for none: an observer that samples returns nil for most
  ///   requests.
  func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)?

  /// An end-point or scope of this dispatcher begins to pause, or its pause is extended: a server refused a request of
  /// this dispatcher, or could not be reached. See `PausePolicy` and `BreakerPolicy`.
  ///
  /// Called once for each change, with no lock held, on the thread that causes it, before the exchange that caused it
  /// ends. Calls for different end-points may come concurrently. It must return soon and must not block.
  func endPointPaused(_ pause: EndPointPause)
}

extension DispatchObserver {
  /// Does nothing.
  public func endPointPaused(_ pause: EndPointPause) {}
}

/// Observes one request from its submission to its end. Each span of the request has one call for its start and one for
/// its end:
///
/// ```
/// request                  requestStarted (of DispatchObserver) ... requestEnded
/// |-- waiting              waitingStarted ... waitingEnded          for a permit, possibly for no time at all
/// |-- exchange             exchangeStarted ... exchangeEnded        with the permit: one request, one response
/// |   |-- awaiting head    awaitingHeadStarted ... awaitingHeadEnded
/// |   |   |-- name         measured, and reported in exchangeEnded: a transport may not know them sooner
/// |   |   |-- connect
/// |   |   `-- tls
/// |   `-- receiving        receivingStarted ... receivingEnded      the body, after the head
/// |-- backoff              backoffStarted ... backoffEnded          until the next attempt may begin: no permit
/// |-- intercepting         interceptingStarted ... interceptingEnded  processed by interceptors: no permit, unless it is outdated
/// |-- waiting              for a permit again: after each backoff, redirect to another end-point, or interceptors
/// `-- exchange             another one: after a redirect, a retry, a credential, an interceptor's answer
/// ```
///
/// The contract:
/// - Each start has exactly one end, however the request ends: refused, cancelled while it waits or runs, ended by a
///   time limit, by a failure of the transport or of the caller's code, or by the shutdown. A nested span ends before
///   the span that contains it. Of consecutive spans, one ends before the next starts.
/// - The calls for one request come one at a time, in the order of the tree, with no lock held. They come on the thread
///   that causes them (the caller's, the transport's, the timer's), so calls for different requests may be concurrent.
/// - A request ends when its outcome is decided and about to be delivered to its caller. Open spans end before it, with
///   the request's error, and no calls follow `requestEnded`. A cancelled exchange may take a little longer to close
///   its connection and return its permit, which `EndPointGate.snapshot()` shows.
/// - A shutdown of the dispatcher returns after all `requestEnded` calls have returned.
///
/// Calls must return soon, because the transport's thread may make them, and delays every other exchange meanwhile.
/// They must not block, and blocking calls of the same dispatcher throw there. They may cancel requests.
///
/// The reported values contain no values of header fields, no credentials and no part of a body, and URLs contain their
/// query only as far as requested: see ``ObservedRequest/url(showing:)``. The `detail` of an error may contain parts of
/// a URL, such as the target of a redirect.
public protocol RequestObserver: AnyObject, Sendable {
  /// The request begins to wait for a permit, which it may get at once.
  func waitingStarted(_ start: WaitingStart)
  /// The request has its permit, or ended without one; in that case there is an error.
  func waitingEnded(_ end: SpanEnd)

  /// An attempt has failed, the permit was returned, and the next attempt is due later.
  func backoffStarted(_ start: BackoffStart)
  /// The next attempt is due, or the request ended before; in that case there is an error.
  func backoffEnded(_ end: SpanEnd)

  /// Interceptors begin to process the request, before it is sent or after. It holds no permit, unless it was outdated
  /// when it got its permit: see ``RequestInterceptor``.
  func interceptingStarted(_ start: InterceptingStart)
  /// The interceptors have finished, or the request ended before; in that case there is an error.
  func interceptingEnded(_ end: SpanEnd)

  /// The request is sent, for the first time or again, under its permit.
  func exchangeStarted(_ start: ExchangeStart)
  /// The wait for the response's head begins. It includes making a connection if necessary, sending the request, and
  /// the server's processing. Called right after `exchangeStarted`, with the same time.
  func awaitingHeadStarted(at moment: Deadline)
  /// The head has arrived and there is a status code, or it will not arrive and there is an error.
  func awaitingHeadEnded(_ end: SpanEnd)
  /// The body begins to arrive, if there is one. Called with the time of `awaitingHeadEnded`.
  func receivingStarted(at moment: Deadline)
  /// The body is complete, or was abandoned; in that case there is an error. The error `cancelled` also marks a body
  /// that the dispatcher itself discards, such as that of a redirect.
  func receivingEnded(_ end: SpanEnd)
  /// The exchange is over. Another exchange, a backoff, a wait or the end of the request follows.
  func exchangeEnded(_ report: ExchangeReport)

  /// The outcome is decided. The last call.
  func requestEnded(_ report: RequestReport)
}

extension RequestObserver {
  /// Does nothing.
  public func waitingStarted(_ start: WaitingStart) {}
  /// Does nothing.
  public func waitingEnded(_ end: SpanEnd) {}
  /// Does nothing.
  public func backoffStarted(_ start: BackoffStart) {}
  /// Does nothing.
  public func backoffEnded(_ end: SpanEnd) {}
  /// Does nothing.
  public func interceptingStarted(_ start: InterceptingStart) {}
  /// Does nothing.
  public func interceptingEnded(_ end: SpanEnd) {}
  /// Does nothing.
  public func exchangeStarted(_ start: ExchangeStart) {}
  /// Does nothing.
  public func awaitingHeadStarted(at moment: Deadline) {}
  /// Does nothing.
  public func awaitingHeadEnded(_ end: SpanEnd) {}
  /// Does nothing.
  public func receivingStarted(at moment: Deadline) {}
  /// Does nothing.
  public func receivingEnded(_ end: SpanEnd) {}
  /// Does nothing.
  public func exchangeEnded(_ report: ExchangeReport) {}
  /// Does nothing.
  public func requestEnded(_ report: RequestReport) {}
}
