import HTTPTypes
import HeadgateThreads

/// Where a response goes: into memory, a stream, a file. Its calls come one at a time, in this order, with no lock
/// held; `end` is the last, and comes even if nothing else did.
protocol ResponseSink: AnyObject, Sendable {
  /// Whether it may answer `pause` at any time. One that gathers a response does so only when memory is short.
  var mayPause: Bool { get }

  /// Callers that were held because too many wait may go on.
  func accepted()

  /// Whether it will ask its consumer for a credential when it receives this head: then it calls the operation's
  /// `answer`, until which nothing ends.
  func asks(about head: ResponseHead) -> Bool

  /// So much of the request's body has been sent. At any time, perhaps while another call is made; passed over after the
  /// end.
  func sent(_ progress: UploadProgress)

  /// The head of the response that will be delivered: redirects that are followed are not told.
  func received(_ head: ResponseHead, url: String) throws(DispatchError) -> BodyFlow

  /// A piece of the body, valid during the call.
  func received(_ bytes: UnsafeRawBufferPointer) throws(DispatchError) -> BodyFlow

  /// What came after the body.
  func received(trailers: HTTPFields)

  /// Whether its consumer sees nothing before the end: then what breaks off after its head may be sent again.
  var isUnseen: Bool { get }

  /// What it was told is void: the request is sent again. Called only where it `isUnseen`.
  func startAnew()

  /// The end. Without an error the response was whole. `core.operations.remove()` follows when the caller was told.
  func end(_ error: DispatchError?, _ times: DispatchTimes, told core: DispatchCore)
}

extension ResponseSink {
  var mayPause: Bool { false }
  func accepted() {}
  func sent(_ progress: UploadProgress) {}
  func received(trailers: HTTPFields) {}
  var isUnseen: Bool { false }
  func startAnew() {}
  func asks(about head: ResponseHead) -> Bool { false }
}

/// How long a request spent in each phase.
public struct DispatchTimes: Sendable, Hashable {
  /// Waiting: for permits, that of a redirect included, for sockets, and for memory to gather the body in.
  public var queued: Duration
  /// From the submission to the end.
  public var total: Duration
  /// The parts of the last exchange, each counted from that exchange's start.
  public var exchange: ExchangeTimes

  /// How many times it was sent: 1 unless it has a ``RetryPolicy``, or met a connection that had been closed
  /// (``DispatchRequest/retry``). Redirects don't count.
  public var attempts: Int

  init(queued: Duration, total: Duration, exchange: ExchangeTimes, attempts: Int = 1) {
    self.attempts = attempts
    self.queued = queued
    self.total = total
    self.exchange = exchange
  }
}
