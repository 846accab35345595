import CCurl
import HeadgateDispatch
import HeadgateThreads
import Synchronization

/// Carries requests over libcurl. The transport for Linux and for the command-line tool.
///
/// One thread (or more, if configured) drives all exchanges with libcurl's multi interface over epoll (kqueue on
/// macOS). A permit freed there starts the next request there. TLS certificates are verified unless configured
/// otherwise. Name look-ups run on a few threads and never block the loop. Each name is looked up once at a time, and
/// at most 24 names are looked up concurrently; further ones wait. Addresses are kept for one minute, the non-existence
/// of a name for 30 seconds, and any other failure of the resolver for one second. A proxy's name is looked up by
/// libcurl.
///
/// Open sockets to an end-point, including idle and closing ones, never exceed its limit, even if several transports
/// share the gate. For this reason the addresses of a name are tried one after another: if an IPv6 address does not
/// respond, the IPv4 address is tried after half of the request's `connectTimeout`.
///
/// **HTTP/2** is used if a server offers it in the TLS handshake, HTTP/1.1 otherwise. Requests then share
/// connections: the first request to an end-point opens one, and the others wait for its handshake. To benefit, give
/// an end-point more `requests` than `connections`. Long requests, and responses that their consumer may pause
/// (streams, files, delegates), get an HTTP/1.1 connection of their own: a long one would slow down the others on a
/// shared connection, and libcurl would keep paused data in memory. A request that becomes long while it runs stays
/// on its connection. A request that has its permit, but neither a connection to share nor room for a socket, waits
/// for one; that counts as waiting. Over HTTP/2, libcurl delivers no trailers after a body of declared length: a
/// request that `requires` `trailers` uses HTTP/1.1.
///
/// **Proxies** are taken from the environment unless configured otherwise: see ``CurlProxy``. **Unix-domain sockets**
/// are addressed by `http+unix://` URLs, over HTTP/1.1 and with the host `localhost`. **Cookies** are stored if the
/// configuration has a ``CookieJar``. Netrc files are not used.
public final class CurlTransport: Transport {
  /// The settings of a transport.
  public struct Configuration: Sendable {
    /// The certificate authorities to trust.
    public var trust = CurlTrust.system
    /// The client's certificate. Default: none.
    public var clientCertificate: CurlClientCertificate?
    /// The minimum version of TLS.
    public var minimumTLS = CurlTLSVersion.tls12
    /// The versions of HTTP in use.
    public var httpVersion = CurlHTTPVersion.best
    /// Which requests use which proxy.
    public var proxy = CurlProxyRule.environment
    /// Stores cookies. Default: nil, which neither stores nor sends cookies.
    public var cookies: CookieJar?
    /// The `User-Agent`, unless the request has its own.
    public var userAgent = "headgate/0.1"
    /// Whether to ask for bodies compressed with gzip, which are decompressed as they arrive. Default: true. A
    /// request with its own `Accept-Encoding` gets the body as sent.
    public var acceptsCompression = true
    /// The maximum size of a response's head in bytes. Default: 256 KB. Trailers have the same limit.
    public var maxHeadBytes = 256 * 1024
    /// How long to wait for the answer to `Expect: 100-continue`. After that the body is sent.
    package var continueTimeout = Duration.seconds(1)

    /// Creates a configuration with default settings.
    public init() {}
  }

  private let loops: [CurlLoop]
  private let names = NameService()
  // The loops' socket leases.
  private let leases = Locked<[SocketLeases]>([])
  private let executor: CurlTaskExecutor

  /// Creates a transport and starts its threads.
  ///
  /// - Parameters:
  ///   - configuration: The settings.
  ///   - loops: The number of threads, 1 to 64. Each end-point, with all of its sockets, belongs to one of them. One
  ///     thread is enough for some ten thousand requests per second. With a proxy there is always one thread, because
  ///     its sockets belong to one end-point.
  /// - Throws: `DispatchError`: `transportFailed` if the system has no threads or descriptors left, or if `loops` is
  ///   out of range; `tlsFailed` if a certificate file can't be read; `proxyFailed` if a proxy's URL is not valid.
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
      for _ in 0..<(proxies.isEmpty ? loops : 1) { made.append(try CurlLoop(configuration, proxies, names)) }
    } catch {
      for loop in made { loop.shutDown() }
      throw error
    }
    self.loops = made
    executor = CurlTaskExecutor(made)
  }

  deinit { for loop in loops { loop.shutDown() } }

  /// All capabilities, except HTTP/2 if the configuration disables it.
  public var capabilities: TransportCapabilities {
    let http2: TransportCapabilities = loops.first?.configuration.httpVersion == .best ? .http2 : []
    return http2.union([
      .socketLimits, .backPressure, .proxy, .unixSockets, .clientCertificate, .ownAuthority, .trailers,
      .cookies, .connectPhases, .streamingUpload, .addressRules, .connectTimeout, .expectsContinue, .encodedBodies,
    ])
  }

  /// An executor that runs tasks on the transport's threads, between the iterations that serve their sockets. With
  /// several threads, a task stays on the thread that resumes it, which belongs to the end-point whose response it
  /// awaited; tasks from other threads start on the first one. After the transport's end, jobs run on the global
  /// executor.
  public var taskExecutor: (any TaskExecutor)? { executor }

  /// Starts an exchange; immediately if called on the thread of its end-point.
  public func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    let loop = loop(of: exchange.request.endPoint)
    let transfer = CurlTransfer(exchange, events, loop)
    if let refusal = transfer.refusal {
      // A later cancel must not end it again.
      transfer.isOver = true
      events.ended(ExchangeEnd(failure: refusal, wasSent: false))
    } else {
      loop.start(transfer)
    }
    return transfer
  }

  private func loop(of endPoint: EndPoint) -> CurlLoop {
    loops.count == 1 ? loops[0] : loops[Int(UInt(bitPattern: endPoint.hashValue) % UInt(loops.count))]
  }

  /// Whether a request's name is known, or needs no look-up.
  package func knowsName(for request: DispatchRequest) -> Bool {
    nameToLookUp(for: request).map { names.answer(for: $0) != nil } ?? true
  }

  /// Looks up a request's name before the request is started, so that it holds no permit meanwhile. Returns when the
  /// answer is known, even if there are no addresses, or after ``stopWaitingForNames()``.
  ///
  /// - Returns: False if the look-up itself has taken longer than the request's `connectTimeout`.
  package func lookUpName(for request: DispatchRequest) async -> Bool {
    guard let name = nameToLookUp(for: request) else { return true }
    return await names.waitForAnswer(name, within: request.connectTimeout)
  }

  /// Makes all present and later calls of ``lookUpName(for:)`` return at once.
  package func stopWaitingForNames() { names.stopWaiting() }

  private func nameToLookUp(for request: DispatchRequest) -> String? {
    guard let loop = loops.first, loop.proxies.isEmpty || loop.proxies.proxy(for: request) == nil else { return nil }
    return request.endPoint.nameToLookUp
  }

  /// Leases every socket that is opened after this call from the gate.
  public func use(_ sockets: GateSockets) {
    let joined = loops.map { sockets.join($0) }
    leases.withLock { $0 = joined }
    for (loop, leases) in zip(loops, joined) { loop.use(leases) }
  }

  /// Ends the threads when nothing runs on them, closes all idle connections, then calls `whenClosed`.
  public func shutDown(whenClosed: @escaping @Sendable () -> Void) {
    let left = Countdown(loops.count)
    for loop in loops { loop.shutDown { if left.countDown() { whenClosed() } } }
  }

  /// The number of open sockets to an end-point, including idle ones. Sockets of requests through a proxy count at
  /// the proxy.
  public func openSockets(to endPoint: EndPoint) -> Int {
    leases.withLock { $0 }.reduce(0) { $0 + $1.openCount(to: endPoint) }
  }

  /// The versions of the loaded libcurl and its TLS library, for reports.
  public static var libraryVersion: String {
    // Not `curl_version`: it also asks LDAP for its version, which loads plug-ins at each start of the command.
    let info = ccurl_version_info().pointee
    let parts = [info.version.map { "libcurl/" + String(cString: $0) }, info.ssl_version.map { String(cString: $0) }]
    return parts.compactMap(\.self).joined(separator: " ")
  }
}

/// Counts down the loops that are still open.
private final class Countdown: Sendable {
  private let left: Atomic<Int>

  init(_ count: Int) { left = Atomic(count) }

  /// True for the last one.
  func countDown() -> Bool { left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
}
