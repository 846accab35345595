import CCurl
import HeadgateDispatch
import HeadgateThreads

/// Carries requests over libcurl: the transport of Linux and of the command.
///
/// One thread, with libcurl's multi interface over epoll (kqueue on macOS), drives every exchange; a permit that is
/// freed there starts the next request there. HTTP/1.1; TLS is verified unless told otherwise; name look-ups run on
/// threads of libcurl's own and never stop the loop.
///
/// Open sockets to an end-point, idle and closing ones included, never exceed its limit. For that, addresses of a name
/// are tried one after another: of a name whose IPv6 address does not answer, the IPv4 address is tried when half of
/// the request's `connectTimeout` has passed.
///
/// Proxies, netrc files and cookies are not used.
public final class CurlTransport: Transport {
  /// How the transport behaves.
  public struct Configuration: Sendable {
    /// Whose certificates are believed.
    public var trust = CurlTrust.system
    /// What the server is told of the client, unless the request has its own `User-Agent`.
    public var userAgent = "headgate/0.1"
    /// The largest head of a response, in bytes: 256 KB unless set.
    public var maxHeadBytes = 256 * 1024

    /// The standard behaviour.
    public init() {}
  }

  private let loop: CurlLoop

  /// Starts the transport's thread.
  ///
  /// - Throws: `DispatchError` with `transportFailed` when the system has no thread or descriptor to give.
  public init(configuration: Configuration = Configuration()) throws(DispatchError) {
    loop = try CurlLoop(configuration)
  }

  deinit { loop.shutDown() }

  /// Starts an exchange, at once when called on the transport's own thread.
  public func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    let transfer = CurlTransfer(exchange, events, loop)
    loop.start(transfer)
    return transfer
  }

  /// Shuts idle connections down that are beyond the new limits.
  public func limitsChanged(to limits: GateLimits) { loop.limitsChanged(to: limits) }

  /// Ends the thread once nothing runs on it, and closes all idle connections; then calls `whenClosed`.
  public func shutDown(whenClosed: @escaping @Sendable () -> Void) { loop.shutDown(whenClosed) }

  /// Sockets that are open to an end-point at this moment, idle ones included.
  public func openSockets(to endPoint: EndPoint) -> Int { loop.socketCounts.count(of: endPoint) }

  /// The version of libcurl that is in use, for reports.
  public static var libraryVersion: String { String(cString: curl_version()) }
}

/// Whose certificates a transport believes.
public struct CurlTrust: Sendable, Hashable {
  enum Value: Hashable { case system, authority(String), nobody }
  let value: Value

  /// The system's authorities.
  public static let system = CurlTrust(value: .system)

  /// The authorities in a PEM file, instead of the system's.
  public static func authority(file: String) -> CurlTrust { CurlTrust(value: .authority(file)) }

  /// Anyone: the connection is encrypted, and nobody knows with whom. For tests with throw-away certificates.
  public static let insecure = CurlTrust(value: .nobody)
}
