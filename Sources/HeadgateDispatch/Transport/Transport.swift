import HTTPTypes

/// Carries requests to their end-points and returns the responses: libcurl, URLSession, or a script in a test.
///
/// The dispatcher starts an exchange only with a permit, so a transport needs no queue of its own. It does not follow
/// redirects, does not retry, and has no timeout but the request's `connectTimeout`: the dispatcher does the rest.
public protocol Transport: Sendable {
  /// What it supports beyond a plain exchange. Requests that need more are not passed to it: see
  /// ``TransportCapabilities``.
  var capabilities: TransportCapabilities { get }

  /// An executor for tasks on the thread that carries the exchanges, so that a response wakes no other thread. Nil
  /// unless the transport has one. Every job that it accepts runs, even after the transport's end.
  var taskExecutor: (any TaskExecutor)? { get }

  /// Starts one exchange: one request, one response.
  ///
  /// May be called from any thread, even inside a call of `events`. The transport may call `events` before this
  /// returns. It must call ``ExchangeEvents/ended(_:)`` exactly once, in every case.
  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl

  /// Sets the gate's sockets, from which the transport leases each socket before it opens it: see `GateSockets`.
  /// Called once, before the first exchange. A transport that can't count its sockets does not declare
  /// ``TransportCapabilities/socketLimits``, and follows `GateSockets.limits` as well as it can.
  func use(_ sockets: GateSockets)

  /// Closes idle connections, releases resources, then calls `whenClosed` once, from any thread. No exchange is
  /// running, and none will follow.
  func shutDown(whenClosed: @escaping @Sendable () -> Void)
}

extension Transport {
  /// No capabilities.
  public var capabilities: TransportCapabilities { [] }

  /// Does nothing: for transports that open no sockets or can't count them.
  public func use(_ sockets: GateSockets) {}

  /// Nil.
  public var taskExecutor: (any TaskExecutor)? { nil }

  /// Calls `whenClosed` at once: for transports that hold no resources.
  public func shutDown(whenClosed: @escaping @Sendable () -> Void) { whenClosed() }
}

/// A request for a transport to carry.
public struct Exchange: Sendable {
  /// The request, its URL in canonical form.
  public let request: DispatchRequest

  /// Whether the consumer may pause the response at any time. If so, the response must not be decompressed, unless
  /// decompression can pause in the middle of an inflated block. (A consumer that collects the response in memory
  /// may also pause when memory is short; then pausing is best effort.)
  public let mayPause: Bool

  /// Whether it belongs to a long request, which keeps its connection for a long time. A transport that shares
  /// connections gives it one of its own, if it can.
  public let isLong: Bool

  /// Whether it needs a new connection: it was sent over one that was kept open and turned out to be closed.
  public internal(set) var needsNewConnection = false

  /// Whether it must not reach a private address, because a public server redirected here. This applies to the address
  /// of the connection, not to the name. See ``RedirectPolicy``.
  public internal(set) var refusesPrivateAddresses: Bool

  /// Whether silence ends it, so that ``ExchangeEvents/receivedActivity()`` must be called.
  public internal(set) var hasIdleLimit: Bool

  /// The request's body, to be read when the transport has room for it; nil if there is none.
  public internal(set) var body: RequestBodySource?

  /// Creates an exchange for a transport to start.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - mayPause: Whether the consumer may pause the response.
  ///   - isLong: Whether it belongs to a long request.
  ///   - body: The request's body; by default created from the request's own bytes.
  public init(
    request: DispatchRequest, mayPause: Bool, isLong: Bool = false, body: RequestBodySource? = nil
  ) {
    self.request = request
    self.mayPause = mayPause
    self.isLong = isLong
    refusesPrivateAddresses = request.fields.rare.refusesPrivateAddresses
    hasIdleLimit = request.idleTimeout != nil
    let hasOwn = body == nil && request.fields.hasBody
    self.body = hasOwn ? request.body?.bytes.map { RequestBodySource(BodyPump($0, isReplayable: true), nil) } : body
  }
}

/// The events of an exchange: head, body in pieces, end. Call one method at a time, in this order, from any thread,
/// and none after the end.
public protocol ExchangeEvents: AnyObject, Sendable {
  /// The response's head has arrived. Not called for informational responses (1xx).
  func received(_ head: ResponseHead) -> BodyFlow

  /// A piece of the body, valid during the call only. It is consumed even if the result is `pause`.
  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow

  /// The exchange is over. Its connection has been closed or reset, or is ready for another exchange.
  func ended(_ end: ExchangeEnd)

  /// The trailer fields. Called once, before the end; not called if there are none.
  func received(trailers: HTTPFields)

  /// Reports whether the end-point's connections carry several requests at once (HTTP/2), as observed by this exchange.
  /// May be called at any time before the end. If they do, more exchanges may run than sockets are allowed.
  func connectionMultiplexes(_ multiplexes: Bool)

  /// All sockets that the end-point's limit allows are in use: the exchange waits for one in the transport. May be
  /// called before `start` returns. The time counts as waiting, and the request's `timeout` stops.
  func socketWaitStarted()

  /// The wait for a socket is over. Another may follow.
  func socketWaitEnded()

  /// Data arrived that no other event reports: part of a head, or an interim response. Restarts the request's
  /// `idleTimeout`; called only if ``Exchange/hasIdleLimit`` is true.
  func receivedActivity()
}

extension ExchangeEvents {
  /// Does nothing: for consumers that ignore trailers.
  public func received(trailers: HTTPFields) {}

  /// Does nothing: no more exchanges are started at once than sockets are allowed.
  public func connectionMultiplexes(_ multiplexes: Bool) {}

  /// Does nothing: the time counts as running.
  public func socketWaitStarted() {}

  /// Does nothing.
  public func socketWaitEnded() {}

  /// Does nothing: only heads and pieces of bodies count for `idleTimeout`.
  public func receivedActivity() {}
}

/// What the transport does next with a body.
public enum BodyFlow: Sendable {
  /// Continue.
  case more
  /// Pause until ``ExchangeControl/resume()``: stop reading the socket, with ``TransportCapabilities/backPressure``.
  case pause
  /// Close the connection: the rest is not needed.
  case abort
}

/// How an exchange ended.
public struct ExchangeEnd: Sendable {
  /// Why the exchange failed. Nil: the response was complete.
  public let failure: DispatchError?

  /// The time spent in each phase.
  public let times: ExchangeTimes

  /// Whether the exchange failed on a stale connection: a reused one that failed before the first byte of a response,
  /// most likely because the server had closed it. A transport that sets this has not sent the request again itself.
  public let connectionWasStale: Bool

  /// Whether anything left this program, be it only an attempt to connect. If not, no rate counts the start, the
  /// request has made no attempt, and it is certain that no server has seen it.
  public let wasSent: Bool

  /// Creates the end of an exchange.
  ///
  /// - Parameters:
  ///   - failure: Why it failed; nil if the response was complete.
  ///   - times: The time spent in each phase.
  ///   - connectionWasStale: Whether a reused connection turned out to be closed.
  ///   - wasSent: Whether anything left this program. False if it waited for a socket, and then did not get one.
  public init(
    failure: DispatchError? = nil, times: ExchangeTimes = ExchangeTimes(), connectionWasStale: Bool = false,
    wasSent: Bool = true
  ) {
    self.failure = failure
    self.times = times
    self.connectionWasStale = connectionWasStale
    self.wasSent = wasSent
  }
}

/// Controls a running exchange. All methods return at once and are thread-safe.
public protocol ExchangeControl: AnyObject, Sendable {
  /// Ends the exchange: closes the connection, then `ended` is called as always. Does nothing after the end.
  func cancel()

  /// Resumes a paused body. Does nothing if it is not paused.
  func resume()

  /// How far the exchange has come.
  var phase: DispatchError.Phase { get }

  /// Looks for bytes that have arrived and were not read yet. Asked before an exchange ends for its `idleTimeout`: the
  /// program may have been stopped, or its machine asleep, while the server was not silent.
  ///
  /// - Parameter answer: Called once, from any thread, also after the end. True if there are such bytes.
  func lookForUnreadBytes(_ answer: @escaping @Sendable (Bool) -> Void)
}

extension ExchangeControl {
  /// Finds none: for transports that can't look.
  public func lookForUnreadBytes(_ answer: @escaping @Sendable (Bool) -> Void) { answer(false) }
}

/// The times of an exchange, each measured from its start. Zero for a phase that did not happen, for example on a
/// reused connection.
public struct ExchangeTimes: Sendable, Hashable {
  /// Until the host name was resolved.
  public var name: Duration
  /// Until the connection was established.
  public var connect: Duration
  /// Until the TLS handshake was complete.
  public var tls: Duration
  /// Until the first byte of the response.
  public var firstByte: Duration
  /// Until the end.
  public var total: Duration

  /// Creates the times of an exchange.
  public init(
    name: Duration = .zero, connect: Duration = .zero, tls: Duration = .zero, firstByte: Duration = .zero,
    total: Duration = .zero
  ) {
    self.name = name
    self.connect = connect
    self.tls = tls
    self.firstByte = firstByte
    self.total = total
  }
}

extension HTTPField.Name {
  /// Whether the field belongs to the exchange rather than the request. The transport sets it and ignores the
  /// caller's value: a wrong length would corrupt the connection.
  package var isTransports: Bool { self == .contentLength || self == .connection || self == .transferEncoding }
}
