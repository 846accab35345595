#if AsyncHTTPClient
import AsyncHTTPClient
import HeadgateDispatch
import HeadgateThreads
import NIOCore
import NIOSSL

/// Carries requests over async-http-client. The transport for servers that use SwiftNIO already. Requires the package
/// trait `AsyncHTTPClient`:
///
/// ```swift
/// .package(path: "../headgate", traits: ["AsyncHTTPClient"])
///
/// let dispatcher = URLDispatcher(transport: try AsyncHTTPClientTransport())
/// let response = try await dispatcher.data(for: "https://example.com/")
/// await dispatcher.shutDown()
/// ```
///
/// One event loop of the group drives every exchange and makes the dispatcher's callbacks, so code that runs there
/// must not block. The client's own queue, timeouts and redirects are disabled: it only gets requests that hold a
/// permit, and never ends one by itself. It speaks HTTP/1.1. No proxy is used, even if the environment names one.
///
/// Limitations of async-http-client: Its connections to an end-point, including idle ones, keep to the end-point's
/// limit, except that two sockets may be open for a moment for a name with IPv4 and IPv6 addresses, and that
/// connections made under an old limit stay until their requests have ended. `connectTimeout` ends a request, but not
/// the connection attempt (``Configuration/connectTimeout`` does). Name look-up, connection and TLS handshake are one
/// phase with one time. If no connection can be made, all requests waiting for one to that end-point fail.
/// `Expect: 100-continue` is not supported: a request whose `expectsContinue` is true is refused. Compressed bodies
/// (gzip, deflate) are always decompressed; in memory, one read of the socket may grow a thousandfold.
public final class AsyncHTTPClientTransport: Transport {
  /// The settings of a transport.
  public struct Configuration: Sendable {
    /// Trusted authorities, client certificate and TLS versions. Default: the system's authorities and TLS 1.2 or
    /// later. For a custom authority set `tls.trustRoots = .file("authority.pem")`. Only `tls.certificateVerification
    /// = .none` disables verification.
    public var tls: TLSConfiguration
    /// The maximum time to make a connection, including the TLS handshake. A request's own `connectTimeout` ends the
    /// request sooner, but not the attempt, which continues for the next request that needs a connection: it counts
    /// as one of the end-point's connections, and the shutdown waits for it. At least one millisecond.
    public var connectTimeout = Duration.seconds(30)
    /// The `User-Agent`, unless the request has its own.
    public var userAgent = "headgate/0.1"

    /// Creates a configuration with default settings.
    public init() {
      tls = .makeClientConfiguration()
      tls.minimumTLSVersion = .tlsv12
    }
  }

  private let configuration: Configuration
  private let clients: LentClients
  private let registry: ExchangeRegistry
  private let sockets = Locked<GateSockets?>(nil)
  private let leases = Locked<SocketLeases?>(nil)
  private let executor: LoopExecutor

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - configuration: The settings.
  ///   - group: Event loops, of which one is used. The caller owns the group and may shut it down after the
  ///     transport: exchanges on a stopped loop never end. Default: the process's own group, which is never shut
  ///     down.
  /// - Throws: `DispatchError` with `tlsFailed` if a certificate or key file can't be read.
  public init(
    configuration: Configuration = Configuration(), group: any EventLoopGroup = HTTPClient.defaultEventLoopGroup
  ) throws(DispatchError) {
    // Otherwise the client would report an error only at the first request.
    do { _ = try NIOSSLContext(configuration: configuration.tls) } catch {
      throw DispatchError(.tlsFailed, phase: .securing, detail: "\(error)", underlyingError: error)
    }
    self.configuration = configuration
    let loop = group.next()
    let registry = ExchangeRegistry()
    self.registry = registry
    executor = LoopExecutor(loop)
    clients = LentClients { LentClients.client(of: configuration, connections: $0, on: loop, registry) }
  }

  deinit { clients.shutDown {} }

  /// Back-pressure, Unix-domain sockets, client certificates, custom authorities, trailers, streaming uploads, and
  /// connect timeouts.
  public var capabilities: TransportCapabilities {
    [
      .backPressure, .unixSockets, .clientCertificate, .ownAuthority, .trailers, .streamingUpload, .connectTimeout,
    ]
  }

  /// Starts an exchange.
  public func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    let transfer = ClientExchange(exchange, events, registry)
    let most = sockets.withLock { $0 }?.limit(of: exchange.request.endPoint) ?? EndPointLimits.standard.connections
    guard let loan = clients.lend(connections: most) else {
      transfer.end(DispatchError(.shutDown, phase: .connecting, detail: "the transport was shut down"))
      return transfer
    }
    transfer.start(with: loan, userAgent: configuration.userAgent, on: executor)
    return transfer
  }

  /// Stores the gate's sockets, whose limits set the number of connections of a client. When the limits change,
  /// connections under outdated limits are closed, once no request uses them.
  public func use(_ sockets: GateSockets) {
    self.sockets.withLock { $0 = sockets }
    let joined = sockets.join(LimitsListener(clients, sockets))
    leases.withLock { $0 = joined }
  }

  /// Closes all connections, then calls `whenClosed`. The event loops keep running.
  public func shutDown(whenClosed: @escaping @Sendable () -> Void) {
    leases.withLock { $0.take() }?.leave()
    clients.shutDown(whenClosed: whenClosed)
  }

  /// Receives changes of the gate's limits. It leases no sockets: async-http-client opens them by itself.
  private final class LimitsListener: SocketHolder {
    private let clients: LentClients
    private let sockets: GateSockets

    init(_ clients: LentClients, _ sockets: GateSockets) { (self.clients, self.sockets) = (clients, sockets) }

    func socketIsReserved(_ route: SocketRoute) {}
    func checkIdleConnections() {}
    func limitsChanged() { clients.keepOnly(sockets.limits.connections) }
  }
}

extension GateLimits {
  /// All connection limits that apply to some end-point.
  fileprivate var connections: Set<Int> {
    Set([endPoint.connections] + overrides.values.map(\.connections) + rules.values.map(\.connections))
  }
}
#endif
