import HTTPTypes
import HeadgateThreads

/// The destination of a response: memory, a stream or a file. Its methods are called one at a time, in this order,
/// with no lock held. `end` is the last call and always comes.
protocol ResponseSink: AnyObject, Sendable {
  /// Whether it may return `pause` at any time. A collecting sink does so only when memory is short.
  var mayPause: Bool { get }

  /// Whether the request's `timeout` ends with the head: the response may be of any length.
  var timeoutEndsWithHead: Bool { get }

  /// The request's `idleTimeout` in nanoseconds, if it sets none and is short.
  var usualIdleLimit: Int64? { get }

  /// Whether it will ask its consumer for a credential when it receives this head. If so, it calls the operation's
  /// `answer`, and the request does not end before that.
  func asks(about head: ResponseHead) -> Bool

  /// Upload progress. May be called at any time, even during another call; ignored after the end.
  func sent(_ progress: TransferProgress)

  /// The head of the response to deliver. Not called for redirects that are followed.
  func received(_ head: ResponseHead, url: String, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow

  /// A piece of the body, valid during the call. After `abort` the response counts as complete.
  func received(_ bytes: UnsafeRawBufferPointer, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow

  /// The trailer fields.
  func received(trailers: HTTPFields)

  /// Whether its consumer has seen nothing of a response that broke off, so that another request may follow.
  func mayStartAnew() -> Bool

  /// Whether a response is of no use to it, so that another request follows. May be called at any time.
  func declines(_ head: ResponseHead) -> Bool

  /// Whether the complete response lacks the rest of its body, so that another request follows for that.
  var lacksRest: Bool { get }

  /// Another request follows, and nothing of the response is passed on. Called only after ``mayStartAnew()``, or if the
  /// sink has asked for that.
  ///
  /// - Parameters:
  ///   - request: The request without changes by interceptors.
  ///   - isDeclined: Whether the sink has declined the response.
  /// - Returns: The request to send.
  func startAnew(
    _ request: DispatchRequest, declining isDeclined: Bool, of operation: DispatchOperation
  ) -> DispatchRequest

  /// The end. The sink calls `core.operations.remove()` once the caller has been told.
  func end(_ outcome: OperationState.Outcome, of operation: DispatchOperation)
}

extension ResponseSink {
  var mayPause: Bool { false }
  var timeoutEndsWithHead: Bool { false }
  var usualIdleLimit: Int64? { nil }
  func sent(_ progress: TransferProgress) {}
  func received(trailers: HTTPFields) {}
  func mayStartAnew() -> Bool { false }
  func declines(_ head: ResponseHead) -> Bool { false }
  var lacksRest: Bool { false }
  func startAnew(
    _ request: DispatchRequest, declining isDeclined: Bool, of operation: DispatchOperation
  ) -> DispatchRequest { request }
  func asks(about head: ResponseHead) -> Bool { false }
}

/// The time that a request spent in each phase.
public struct DispatchTimes: Sendable, Hashable {
  /// Time waiting: for permits (also after a redirect), for sockets, for memory for the body, and for bandwidth.
  public var queued: Duration
  /// From submission to end.
  public var total: Duration
  /// The phases of the last exchange, each measured from the start of that exchange.
  public var exchange: ExchangeTimes

  /// What it waited for in the time of ``queued``. The sum is that time, to a millisecond. After its end nothing is added.
  public var waited = WaitTimes()

  /// The number of times the request was sent. Can be more than 1 with a ``RetryPolicy``, or if a reused connection
  /// turned out to be closed (``DispatchRequest/retry``). Redirects don't count.
  public var attempts = 1
  /// What the attempts before the last one may have done at a server.
  package var earlier = EarlierAttempts.unsent
}
