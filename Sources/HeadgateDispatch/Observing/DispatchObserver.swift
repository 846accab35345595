import HeadgateThreads

/// Hears of every request of a ``URLDispatcher`` when it begins, and says who hears of the rest of it.
///
///     let dispatcher = URLDispatcher(transport: transport, observers: [SlowRequests()])
///
/// A dispatcher without observers does nothing for them. See ``RequestObserver`` for the calls and their order.
public protocol DispatchObserver: Sendable {
  /// A request is about to be submitted: the first call of every request, on the thread and in the task that submit it.
  ///
  /// Called with no lock held, O(1) for the dispatcher. It must return soon, must not block, and should submit nothing
  /// to the same dispatcher, since that would be observed too.
  ///
  /// - Parameter start: What is submitted. Header fields may be added to it.
  /// - Returns: Who hears of this request from here on; nil: nobody (one that samples returns nil for most).
  func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)?

  /// An end-point of this dispatcher, or a scope, begins to pause, or its pause becomes longer: a server refused a request
  /// of this dispatcher, or could not be reached. See ``PausePolicy`` and ``BreakerPolicy``.
  ///
  /// Called once for each change, with no lock held, on the thread that brings it about, before the exchange ends that
  /// caused it. Calls for different end-points may come at once. It must return soon and must not block.
  func endPointPaused(_ pause: EndPointPause)
}

extension DispatchObserver {
  /// Does nothing.
  public func endPointPaused(_ pause: EndPointPause) {}
}

/// Hears of one request from its submission to its end. Each span of the request has a call for its start and one for
/// its end:
///
/// ```
/// request                  requestStarted (of DispatchObserver) ... requestEnded
/// |-- waiting              waitingStarted ... waitingEnded          for a permit, be it for no time at all
/// |-- exchange             exchangeStarted ... exchangeEnded        holding the permit: sent once, answered once
/// |   |-- awaiting head    awaitingHeadStarted ... awaitingHeadEnded
/// |   |   |-- name         measured, and told in exchangeEnded: a transport may know them no sooner
/// |   |   |-- connect
/// |   |   `-- tls
/// |   `-- receiving        receivingStarted ... receivingEnded      the body, after the head
/// |-- resting              restingStarted ... restingEnded          until the next attempt may begin: no permit
/// |-- intercepting         interceptingStarted ... interceptingEnded  in the hands of interceptors: no permit
/// |-- waiting              for a permit again: after each rest, at each redirect to another end-point, after interceptors
/// `-- exchange             the next one: after a redirect, a retry, a credential, an interceptor's answer
/// ```
///
/// What is promised:
/// - Each start has exactly one end, however the request ends: refused, cancelled in the queue or while it runs, by a
///   limit on time, by a fault of the transport or of the caller's side, at the shutdown. A span inside another one ends
///   before it; of those side by side the one ends before the next starts.
/// - The calls of one request come one at a time, in the order of the tree, with no lock held. They come on whatever
///   thread brings them about (the caller's, the transport's, the timer's), so those of different requests come at once.
/// - A request ends when its outcome is decided and about to be told to its caller. What is open then ends before it, with
///   the request's error, and nothing is told after `requestEnded`: an exchange that was cancelled may take a little longer
///   to close its connection and give its permit back, which ``EndPointGate/snapshot()`` shows.
/// - A shutdown of the dispatcher returns after all `requestEnded` have returned.
///
/// Calls must return soon: the transport's thread may be in them, with every other exchange behind it. They must not
/// block, and blocking calls of the same dispatcher throw in them; they may cancel requests.
///
/// No value of a header field, no credential and no piece of a body is in what is told, and a URL shows its query only to
/// the extent that is asked for: see ``ObservedRequest/url(showing:)``. The `detail` of an error may have parts of a URL,
/// such as where a redirect leads.
public protocol RequestObserver: AnyObject, Sendable {
  /// It begins to wait for a permit, which it may get at once.
  func waitingStarted(_ start: WaitingStart)
  /// It has its permit, or ended without one: then there is an error.
  func waitingEnded(_ end: SpanEnd)

  /// An attempt has failed, the permit was given back, and the next attempt is due later.
  func restingStarted(_ start: RestingStart)
  /// The next attempt is due, or the request ended before that: then there is an error.
  func restingEnded(_ end: SpanEnd)

  /// Interceptors begin to work on it, before it is sent or after it was; see ``RequestInterceptor``. It holds no permit.
  func interceptingStarted(_ start: InterceptingStart)
  /// They are done with it, or the request ended before that: then there is an error.
  func interceptingEnded(_ end: SpanEnd)

  /// It is sent, now or once more, under the permit that it holds.
  func exchangeStarted(_ start: ExchangeStart)
  /// The response's head is awaited: until it comes, a connection is made if need be, the request is sent, and the server
  /// thinks. Told right after `exchangeStarted`, at the same moment.
  func awaitingHeadStarted(at moment: Deadline)
  /// The head has come, and there is a status code; or it never will, and there is an error.
  func awaitingHeadEnded(_ end: SpanEnd)
  /// The body begins to come, if there is one. At the moment of `awaitingHeadEnded`.
  func receivingStarted(at moment: Deadline)
  /// The body is whole, or was given up: then there is an error. `cancelled` is that of a body that the dispatcher itself
  /// had no use for, as that of a redirect.
  func receivingEnded(_ end: SpanEnd)
  /// The exchange is over. What follows is another one, a rest, a wait or the request's end.
  func exchangeEnded(_ report: ExchangeReport)

  /// The outcome is decided: the last call.
  func requestEnded(_ report: RequestReport)
}

extension RequestObserver {
  /// Does nothing.
  public func waitingStarted(_ start: WaitingStart) {}
  /// Does nothing.
  public func waitingEnded(_ end: SpanEnd) {}
  /// Does nothing.
  public func restingStarted(_ start: RestingStart) {}
  /// Does nothing.
  public func restingEnded(_ end: SpanEnd) {}
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
