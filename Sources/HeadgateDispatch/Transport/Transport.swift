import HTTPTypes

/// What carries a request to its end-point and brings the response: libcurl, URLSession, a script in a test.
///
/// A transport is told to start an exchange only under a permit, so it needs no queue of its own. It follows no
/// redirect, retries nothing and has no time-out but the request's `connectTimeout`: those are the dispatcher's.
public protocol Transport: Sendable {
  /// What it can do beyond the plain exchange. A request that needs more than that is not brought to it: see
  /// ``TransportCapabilities``.
  var capabilities: TransportCapabilities { get }

  /// Runs tasks on the thread that carries the exchanges, so that a response wakes no other thread; nil unless the
  /// transport has one to offer. Every job that it takes runs, after the transport's end too.
  var taskExecutor: (any TaskExecutor)? { get }

  /// Starts one exchange: one request, one response.
  ///
  /// May be called from any thread, also from inside `events`. The transport may call `events` before this returns. It
  /// must call ``ExchangeEvents/ended(_:)`` exactly once, whatever happens.
  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl

  /// The sockets of the gate under whose limits it works: it leases each from here before it opens it, see
  /// ``GateSockets``. Called once, before the first exchange. A transport that can't count its sockets lacks
  /// ``TransportCapabilities/socketLimits``, and keeps to ``GateSockets/limits`` as well as it can.
  func use(_ sockets: GateSockets)

  /// No exchange will follow, and none is under way. Closes what is idle, frees what is held, then calls `whenClosed`
  /// once, from any thread.
  func shutDown(whenClosed: @escaping @Sendable () -> Void)
}

extension Transport {
  /// Does nothing: for transports that open no sockets, or can't count them.
  public func use(_ sockets: GateSockets) {}

  /// None.
  public var taskExecutor: (any TaskExecutor)? { nil }

  /// Closes nothing: for transports that hold nothing.
  public func shutDown(whenClosed: @escaping @Sendable () -> Void) { whenClosed() }
}

/// What a transport is asked to carry.
public struct Exchange: Sendable {
  /// The request, its URL in canonical form.
  public let request: DispatchRequest

  /// Whether the consumer may pause it at any time. (One that gathers the response in memory may ask for a pause, too, when
  /// memory is short: what can be held back is held back then.) If it may, the response must come as it is, with no decompression, which can't be
  /// paused in the middle of an inflated block.
  public let mayPause: Bool

  /// Whether it is a long request's, which keeps its connection for long: where exchanges can share one, it is to have one
  /// of its own if the transport has a say in that.
  public let isLong: Bool

  /// Whether it needs a connection of its own making: the one that was kept open, and that it was sent over before, had
  /// been closed.
  public internal(set) var needsNewConnection = false

  /// Whether it must not reach a private address: a redirect of a public server leads here. The address that is dialled
  /// decides, not the name. See ``RedirectPolicy``.
  public internal(set) var refusesPrivateAddresses: Bool

  /// The request's body, to be read as the transport has room for it; nil when it has none.
  public internal(set) var body: RequestBodySource?

  /// An exchange for a transport to start.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - mayPause: Whether the consumer may pause the response.
  ///   - isLong: Whether it is a long request's.
  ///   - body: The request's body; made from the request's own bytes unless given.
  public init(
    request: DispatchRequest, mayPause: Bool, isLong: Bool = false, body: RequestBodySource? = nil
  ) {
    self.request = request
    self.mayPause = mayPause
    self.isLong = isLong
    refusesPrivateAddresses = request.fields.refusesPrivateAddresses
    let hasOwn = body == nil && request.fields.hasBody
    self.body = hasOwn ? request.body?.bytes.map { RequestBodySource($0, canRewind: true, nil) } : body
  }
}

/// What a transport tells of an exchange: the head, the body in pieces, the end. One call at a time, in this order,
/// from whatever thread; nothing after the end.
public protocol ExchangeEvents: AnyObject, Sendable {
  /// The response's head has come. Informational ones (1xx) are not told.
  func received(_ head: ResponseHead) -> BodyFlow

  /// A piece of the body, valid during the call only. It is taken even when the answer is `pause`.
  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow

  /// The exchange is over, and its connection closed, reset or fit for another.
  func ended(_ end: ExchangeEnd)

  /// The fields that came after the body, once, before the end; not told when there are none.
  func received(trailers: HTTPFields)

  /// Whether the end-point's connections carry several requests at once (HTTP/2), as far as this exchange has shown; at
  /// any time before the end. Then more of them are started at once than there may be sockets.
  func multiplexes(_ does: Bool)

  /// Every socket that the end-point tolerates is taken: the exchange waits for one in the transport. May come before
  /// `start` returns. This time counts as waiting, and the request's `timeout` rests.
  func waitsForSocket()

  /// The wait is over, until the next time.
  func goesOn()

  /// Something came that is told in no other way: a line of a head that is not whole yet, an interim answer. Called only
  /// for a request that has an `idleTimeout`, which starts anew.
  func heard()
}

/// What the transport is to do next with the body.
public enum BodyFlow: Sendable {
  /// Go on.
  case more
  /// Hold the rest back, at the socket where the transport has ``TransportCapabilities/backPressure``, until ``ExchangeControl/resume()``.
  case pause
  /// Close the connection: the rest is not wanted.
  case abort
}

/// How an exchange ended.
public struct ExchangeEnd: Sendable {
  /// Nil: the response was whole.
  public let failure: DispatchError?

  /// What took how long.
  public let times: ExchangeTimes

  /// Whether it failed on a connection that had been kept open, before a byte of an answer came: most likely the server
  /// had closed it. A transport that says so has not sent the request again itself.
  public let metClosedConnection: Bool

  /// The end of an exchange.
  ///
  /// - Parameters:
  ///   - failure: Why it failed; nil: the response was whole.
  ///   - times: What took how long.
  ///   - metClosedConnection: Whether a connection that was kept open turned out to be closed.
  public init(
    failure: DispatchError? = nil, times: ExchangeTimes = ExchangeTimes(), metClosedConnection: Bool = false
  ) {
    self.failure = failure
    self.times = times
    self.metClosedConnection = metClosedConnection
  }
}

/// How the dispatcher acts on an exchange under way. All calls return at once, from any thread.
public protocol ExchangeControl: AnyObject, Sendable {
  /// Ends it: the connection is closed, then `ended` is called as always. Does nothing once it has ended.
  func cancel()

  /// Goes on with a body that was paused. Does nothing for one that is not.
  func resume()

  /// How far it has come.
  var phase: DispatchError.Phase { get }
}

/// How long the parts of one exchange took, each counted from the exchange's start; zero for a part that did not happen,
/// as on a connection that was open already.
public struct ExchangeTimes: Sendable, Hashable {
  /// Until the host's name was known.
  public var name: Duration
  /// Until the connection stood.
  public var connect: Duration
  /// Until the TLS handshake was done.
  public var tls: Duration
  /// Until the first byte of the response.
  public var firstByte: Duration
  /// Until the end.
  public var total: Duration

  /// Times of an exchange.
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
