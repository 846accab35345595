import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Carries requests over URLSession. The transport for Apple's systems, and for programs that rely on the system's
/// settings for proxies, VPNs, trust and protocols.
///
/// One session serves all requests. Its own queue and timeouts, which fail requests that were never sent, are
/// disabled: its number of connections per host is the highest limit in use, and it only gets requests that hold a
/// permit. Redirects are followed by the dispatcher, so that each one gets the permit of its end-point.
///
/// Limitations of URLSession: It decides itself how long it keeps idle connections, so running requests never exceed
/// a limit, but sockets may for a while. It has no connect timeout: a request that sets `connectTimeout` is refused
/// (`timeout` and `idleTimeout` work). Several fields of one name arrive joined into one. Phases before the head are
/// not distinguished. On Linux a paused body is read into memory. A request's body from a file or a sequence is
/// collected in memory before it is sent, up to ``maxBufferedBodyBytes`` bytes; a larger one fails the request. The
/// session decides whether to wait for `100 Continue` (`expectsContinue`), and whether a long request shares its
/// connection. A GET with a body is refused. A POST with a body but no `Content-Type` is sent as
/// `application/octet-stream`; the session would otherwise declare it a form. Cookies, caches and stored credentials
/// are not used. On Linux, a server that breaks off within a head stops the process: see docs/transports.md.
public final class URLSessionTransport: Transport {
  private struct State: Sendable {
    var session: URLSession?
    var connections = 0
    var sockets: GateSockets?
  }

  private let template: Template
  private let exchanges = SessionExchanges()
  private let state = Locked(State())

  /// Creates a transport.
  ///
  /// - Parameter configuration: The session's settings, such as `protocolClasses`, `waitsForConnectivity` or network
  ///   service types. The transport overrides those for connections, timeouts, cookies, cache and credentials.
  public init(configuration: URLSessionConfiguration = .ephemeral) { template = Template(configuration) }

  deinit {
    exchanges.cancelAll()
    state.withLock { $0.session.take() }?.finishTasksAndInvalidate()
  }

  /// The capabilities that a request may require. Proxies and trust are the system's, not the transport's.
  public var capabilities: TransportCapabilities {
    #if canImport(Darwin)
    [.backPressure, .http2, .streamsOverHTTP2, .expectsContinue]
    #else
    [.expectsContinue]
    #endif
  }

  /// Starts an exchange.
  public func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    let transfer = SessionExchange(exchange, events)
    guard let request = URLRequest(exchange) else {
      transfer.end(DispatchError(.invalidURL, phase: .connecting, detail: "\"\(exchange.request.url)\""))
      return transfer
    }
    if request.httpMethod == "GET", let body = exchange.body, body.length != 0 {
      let reason = "URLSession sends no body with GET: use another transport"
      transfer.end(DispatchError(.unsupported, phase: .connecting, detail: reason))
      return transfer
    }
    guard let body = exchange.body, body.whole == nil, request.httpBody == nil else {
      send(request, transfer, exchange.request.endPoint)
      return transfer
    }
    BodyGathering(body, upTo: Self.maxBufferedBodyBytes) { [weak self] gathered in
      switch gathered {
      case .success(let bytes):
        var request = request
        request.httpBody = Data(bytes)
        // If the transport is gone, so is its dispatcher, which has ended the request.
        self?.send(request, transfer, exchange.request.endPoint)
      case .failure(let error): transfer.end(error)
      }
    }.read()
    return transfer
  }

  private func send(_ request: URLRequest, _ transfer: SessionExchange, _ endPoint: EndPoint) {
    let sockets = state.withLock { $0.sockets }
    let most = sockets?.limit(of: endPoint) ?? EndPointLimits.standard.connections
    let task = task(request, connections: most)
    exchanges.add(transfer, for: task)
    transfer.attach(task)
    task.resume()
  }

  /// The largest request body from a file or sequence, in bytes: 64 MiB.
  public static let maxBufferedBodyBytes = 64 << 20

  /// Stores the gate's sockets, whose limits set the number of connections of a session.
  public func use(_ sockets: GateSockets) { state.withLock { $0.sockets = sockets } }

  /// Invalidates the session, which closes its connections.
  public func shutDown(whenClosed: @escaping @Sendable () -> Void) {
    let session = state.withLock { $0.session.take() }
    session?.finishTasksAndInvalidate()
    whenClosed()
  }

  /// A task of the session. The session's number of connections is fixed, so a session with too few finishes its tasks
  /// and is replaced.
  private func task(_ request: URLRequest, connections: Int) -> URLSessionDataTask {
    let (task, outgrown) = state.withLock { state -> (URLSessionDataTask, URLSession?) in
      // Created under the lock: a session that another thread replaced meanwhile would stop the process.
      if let session = state.session, connections <= state.connections {
        return (session.dataTask(with: request), nil)
      }
      state.connections = max(connections, state.connections, EndPointLimits.standard.requests)
      let outgrown = state.session
      let session = template.session(connections: state.connections, exchanges)
      state.session = session
      return (session.dataTask(with: request), outgrown)
    }
    outgrown?.finishTasksAndInvalidate()
    return task
  }
}

/// The settings of every session of a transport.
// Unchecked: the configuration is a private copy, which is only read and copied after `init`.
private struct Template: @unchecked Sendable {
  private let configuration: URLSessionConfiguration

  init(_ given: URLSessionConfiguration) {
    configuration = given.copy() as? URLSessionConfiguration ?? .ephemeral
    configuration.timeoutIntervalForRequest = URLSessionTransport.never
    configuration.timeoutIntervalForResource = URLSessionTransport.never
    configuration.httpShouldSetCookies = false
    configuration.httpCookieStorage = nil
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.urlCredentialStorage = nil
  }

  func session(connections: Int, _ exchanges: SessionExchanges) -> URLSession {
    let copy = configuration.copy() as? URLSessionConfiguration ?? configuration
    copy.httpMaximumConnectionsPerHost = connections
    // Without a queue the session creates a serial one: calls come one at a time, in order.
    return URLSession(configuration: copy, delegate: exchanges, delegateQueue: nil)
  }
}

extension URLSessionTransport {
  /// A timeout that never fires, in seconds: a hundred years.
  static let never: TimeInterval = 3_155_760_000
}

extension URLRequest {
  /// The request for URLSession; nil if Foundation can't parse its URL.
  init?(_ exchange: Exchange) {
    let request = exchange.request
    guard let url = URL(string: request.url) else { return nil }
    self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: URLSessionTransport.never)
    httpMethod = request.method.rawValue
    httpShouldHandleCookies = false
    for field in request.headerFields where !field.name.isTransports {
      addValue(field.value, forHTTPHeaderField: field.name.rawName)
    }
    // HTTPFields stores cookies separately, and joining Cookie fields with a comma is invalid.
    if let cookies = request.headerFields[.cookie] { setValue(cookies, forHTTPHeaderField: "Cookie") }
    // A body that may be paused must not be compressed: decompression can't pause within an inflated block.
    if exchange.mayPause || request.acceptsCompression == false, request.headerFields[.acceptEncoding] == nil {
      setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    }
    if let data = request.body?.origin as? Data {
      httpBody = data
    } else if let whole = exchange.body?.whole {
      httpBody = Data(whole)
    }
    if httpMethod == "POST", exchange.body != nil, request.headerFields[.contentType] == nil {
      // Otherwise Foundation declares the body to be a form.
      setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
    }
    if request.expectsContinue == true { setValue("100-continue", forHTTPHeaderField: "Expect") }
  }
}
