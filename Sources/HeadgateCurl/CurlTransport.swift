import CCurl
import HeadgateDispatch
import HeadgateThreads
import Synchronization

/// Carries requests over libcurl: the transport of Linux and of the command.
///
/// One thread (or more, if asked for), with libcurl's multi interface over epoll (kqueue on macOS), drives every exchange;
/// a permit that is freed there starts the next request there. TLS is verified unless told otherwise; name look-ups run on
/// threads of libcurl's own and never stop the loop.
///
/// Open sockets to an end-point, idle and closing ones included, never exceed its limit, whatever other transports share
/// the gate. For that, addresses of a name
/// are tried one after another: of a name whose IPv6 address does not answer, the IPv4 address is tried when half of
/// the request's `connectTimeout` has passed.
///
/// **HTTP/2** is spoken where a server offers it in the TLS handshake, HTTP/1.1 everywhere else. Requests then share
/// connections: the first one to an end-point makes one, and the others wait for its handshake. Give an end-point more
/// `requests` than `connections` to make use of it. Long requests, and responses that their consumer may hold
/// (streams, files, delegates), have an HTTP/1.1 connection of their own: a long one would slow all that share with
/// it, and libcurl would keep what is held back in memory; one that becomes long on its way stays where it is. A
/// request that has its permit and finds neither a connection to share nor room for a socket waits for one; that
/// counts as waiting. Over HTTP/2 libcurl brings no trailers of a body whose length the server declares: a request
/// whose `requires` has `trailers` goes by HTTP/1.1.
///
/// **Proxies** are used as the environment says, unless told otherwise: see ``CurlProxy``. **Unix-domain sockets** are
/// asked by `http+unix://` URLs, over HTTP/1.1 and with the host `localhost`. **Cookies** are kept if the configuration has
/// a ``CookieJar``. Netrc files are not used.
public final class CurlTransport: Transport {
  /// How the transport behaves.
  public struct Configuration: Sendable {
    /// Whose certificates are believed.
    public var trust = CurlTrust.system
    /// By what certificate servers know this client; none unless set.
    public var clientCertificate: CurlClientCertificate?
    /// The oldest version of TLS that is spoken.
    public var minimumTLS = CurlTLSVersion.tls12
    /// Which versions of HTTP are spoken.
    public var httpVersion = CurlHTTPVersion.best
    /// Which requests go through which proxy.
    public var proxy = CurlProxyRule.environment
    /// Where cookies are kept; nil, which it is unless set: nowhere, and none are sent.
    public var cookies: CookieJar?
    /// What the server is told of the client, unless the request has its own `User-Agent`.
    public var userAgent = "headgate/0.1"
    /// Whether servers are asked for bodies that gzip has compressed, which are inflated as they come: yes unless set. A
    /// request with its own `Accept-Encoding` gets what it asks for, as it comes.
    public var acceptsCompression = true
    /// The largest head of a response, in bytes: 256 KB unless set. Trailers may be as large again.
    public var maxHeadBytes = 256 * 1024

    /// The standard behaviour.
    public init() {}
  }

  private let loops: [CurlLoop]
  // What the loops lease their sockets by.
  private let leases = Locked<[SocketLeases]>([])
  private let executor: CurlTaskExecutor

  /// Starts the transport's threads.
  ///
  /// - Parameters:
  ///   - configuration: How it behaves.
  ///   - loops: How many threads, 1 to 64. Each end-point belongs to one of them, and so do all its sockets; one is enough
  ///     for some ten thousand requests a second. With a proxy there is one, whatever is asked: its sockets are one
  ///     end-point's.
  /// - Throws: `DispatchError` with `transportFailed` when the system has no thread or descriptor to give or `loops` is out
  ///   of range, with `tlsFailed` when a file of certificates can't be read, with `proxyFailed` when a proxy's URL can't be
  ///   used.
  public init(
    configuration: Configuration = Configuration(), loops: Int = 1
  ) throws(DispatchError) {
    guard (1...64).contains(loops) else {
      throw DispatchError(.transportFailed, detail: "a transport has 1 to 64 loops, not \(loops)")
    }
    try CurlVersion.check()
    try configuration.check()
    let proxies = try ProxyChoice(configuration.proxy)
    var made: [CurlLoop] = []
    do {
      for _ in 0..<(proxies.isEmpty ? loops : 1) { made.append(try CurlLoop(configuration, proxies)) }
    } catch {
      for loop in made { loop.shutDown() }
      throw error
    }
    self.loops = made
    executor = CurlTaskExecutor(made)
  }

  deinit { for loop in loops { loop.shutDown() } }

  /// All but `TransportCapabilities.serverTrustChallenge`: whom to trust is a matter of the configuration.
  public var capabilities: TransportCapabilities {
    let http2: TransportCapabilities = loops.first?.configuration.httpVersion == .best ? .http2 : []
    return http2.union([
      .socketLimits, .backPressure, .proxy, .unixSockets, .clientCertificate, .ownAuthority, .trailers,
      .cookies, .connectPhases, .streamingUpload, .addressRules, .connectTimeout, .expectsContinue,
    ])
  }

  /// Runs tasks on the transport's threads, between the turns that serve their sockets. With several loops a task stays on
  /// the thread that resumes it, which is that of the end-point whose response it waited for; what comes from another
  /// thread begins on the first one. What comes after the transport's end runs on the global executor.
  public var taskExecutor: (any TaskExecutor)? { executor }

  /// Starts an exchange, at once when called on the thread that its end-point belongs to.
  public func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    let loop = loop(of: exchange.request.endPoint)
    let transfer = CurlTransfer(exchange, events, loop)
    if let refusal = transfer.refusal {
      events.ended(ExchangeEnd(failure: refusal))
    } else {
      loop.start(transfer)
    }
    return transfer
  }

  private func loop(of endPoint: EndPoint) -> CurlLoop {
    loops.count == 1 ? loops[0] : loops[Int(UInt(bitPattern: endPoint.hashValue) % UInt(loops.count))]
  }

  /// Leases every socket from the gate's.
  public func use(_ sockets: GateSockets) {
    let joined = loops.map { sockets.join($0) }
    leases.withLock { $0 = joined }
    for (loop, leases) in zip(loops, joined) { loop.use(leases) }
  }

  /// Ends the threads once nothing runs on them, and closes all idle connections; then calls `whenClosed`.
  public func shutDown(whenClosed: @escaping @Sendable () -> Void) {
    let left = Countdown(loops.count)
    for loop in loops { loop.shutDown { if left.countDown() { whenClosed() } } }
  }

  /// Sockets that are open to an end-point at this moment, idle ones included. Those of requests through a proxy are open to
  /// the proxy.
  public func openSockets(to endPoint: EndPoint) -> Int {
    leases.withLock { $0 }.reduce(0) { $0 + $1.openCount(to: endPoint) }
  }

  /// The version of libcurl that is in use, for reports.
  public static var libraryVersion: String { String(cString: curl_version()) }
}

/// Counts those that have yet to end.
private final class Countdown: Sendable {
  private let left: Atomic<Int>

  init(_ count: Int) { left = Atomic(count) }

  /// True for the last one.
  func countDown() -> Bool { left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
}
