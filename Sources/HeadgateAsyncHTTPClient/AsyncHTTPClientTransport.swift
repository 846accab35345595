#if AsyncHTTPClient
import AsyncHTTPClient
import HeadgateDispatch
import HeadgateThreads
import NIOCore
import NIOSSL

/// Carries requests over async-http-client: the transport of servers that run on SwiftNIO already. It is there with the
/// package trait `AsyncHTTPClient`:
///
/// ```swift
/// .package(path: "../headgate", traits: ["AsyncHTTPClient"])
///
/// let dispatcher = URLDispatcher(transport: try AsyncHTTPClientTransport())
/// let response = try await dispatcher.data(for: "https://example.com/")
/// await dispatcher.shutDown()
/// ```
///
/// One event loop of the group drives every exchange and calls whom the dispatcher calls from a transport's thread, so
/// what runs there must not block. The client's own queue, time-outs and redirects are out of use: it gets no request but
/// those that hold a permit, and ends none by itself. HTTP/1.1 is spoken. No proxy is used, whatever the environment says.
///
/// What async-http-client can't tell or do: its connections to an end-point, idle ones included, are as many as the
/// end-point's limit, but two sockets may be open for a moment where a name has two kinds of addresses, and those of an
/// old limit may outlive it until their requests have ended; `connectTimeout` ends a request, but not the attempt to connect
/// (``Configuration/connectTimeout`` does), and name look-up, connection and TLS handshake are one phase and one time; when no connection can be made, all requests that wait for one at that
/// end-point fail; a server is never asked first whether it wants a body (a request whose `expectsContinue` is true is refused). Bodies are
/// inflated (gzip, deflate) wherever they come compressed, in memory some thousand times what one read of the socket
/// brought.
public final class AsyncHTTPClientTransport: Transport {
  /// How the transport behaves.
  public struct Configuration: Sendable {
    /// Whose certificates are believed, by which certificate servers know this client, and which versions of TLS are
    /// spoken. The system's authorities and TLS 1.2 at least unless set; an authority of one's own is
    /// `tls.trustRoots = .file("authority.pem")`. Only `tls.certificateVerification = .none` switches verification off.
    public var tls: TLSConfiguration
    /// The longest that the making of a connection may take, TLS handshake and all. A request's own `connectTimeout` ends
    /// the request sooner, but not the attempt, which goes on for whoever needs a connection next: it counts as one of the
    /// end-point's, and the shutdown waits for it. Less than a millisecond is one.
    public var connectTimeout = Duration.seconds(30)
    /// What the server is told of the client, unless the request has its own `User-Agent`.
    public var userAgent = "headgate/0.1"

    /// The standard behaviour.
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

  /// A transport.
  ///
  /// - Parameters:
  ///   - configuration: How it behaves.
  ///   - group: Event loops, of which it uses one. They stay the caller's, who may shut them down after the transport:
  ///     what is under way on a loop that has gone never ends. The process's own, which stay, unless given.
  /// - Throws: `DispatchError` with `tlsFailed` when a file of certificates or a key can't be read.
  public init(
    configuration: Configuration = Configuration(), group: any EventLoopGroup = HTTPClient.defaultEventLoopGroup
  ) throws(DispatchError) {
    // What the client would find out at the first request.
    do { _ = try NIOSSLContext(configuration: configuration.tls) } catch {
      throw DispatchError(.tlsFailed, phase: .securing, detail: "\(error)", underlying: error)
    }
    self.configuration = configuration
    let loop = group.next()
    let registry = ExchangeRegistry()
    self.registry = registry
    executor = LoopExecutor(loop)
    clients = LentClients { LentClients.client(of: configuration, connections: $0, on: loop, registry) }
  }

  deinit { clients.shutDown {} }

  /// Back-pressure, Unix-domain sockets, client certificates, authorities of one's own, trailers, bodies that are sent as
  /// they are made, and a limit on the time to connect.
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

  /// Notes whose limits say how many connections a client may have. When they change, the connections of limits that hold
  /// no longer are closed, once no request is under way on them.
  public func use(_ sockets: GateSockets) {
    self.sockets.withLock { $0 = sockets }
    let joined = sockets.join(LimitsListener(clients, sockets))
    leases.withLock { $0 = joined }
  }

  /// Closes all connections; then calls `whenClosed`. The event loops are left alone.
  public func shutDown(whenClosed: @escaping @Sendable () -> Void) {
    leases.withLock { $0.take() }?.leave()
    clients.shutDown(whenClosed: whenClosed)
  }

  /// Hears when the gate's limits change. It leases no sockets: async-http-client opens them by itself.
  private final class LimitsListener: SocketHolder {
    private let clients: LentClients
    private let sockets: GateSockets

    init(_ clients: LentClients, _ sockets: GateSockets) { (self.clients, self.sockets) = (clients, sockets) }

    func socketIsReserved(_ route: SocketRoute) {}
    func reviewIdleConnections() {}
    func limitsChanged() { clients.keepOnly(sockets.limits.connections) }
  }
}

extension GateLimits {
  /// Every number of connections that some end-point may have.
  fileprivate var connections: Set<Int> {
    Set([endPoint.connections] + overrides.values.map(\.connections) + rules.values.map(\.connections))
  }
}
#endif
