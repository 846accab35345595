import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Carries requests over URLSession: the transport of Apple's systems, and of programs that rely on what it brings
/// (proxies, VPNs, trust and protocols as the system's settings say).
///
/// One session serves all requests. Its own queue and its own time-outs, which fail requests that were never sent, are
/// out of use: it gets as many connections for a host as the highest limit that it has met says, and no request but those that
/// hold a permit. Redirects are the dispatcher's, so that each hop goes by the permit of its end-point.
///
/// What URLSession can't tell or do: it keeps idle connections as it likes (requests under way never exceed a limit,
/// sockets may for a while); it has no limit on the time to connect alone (a request whose `connectTimeout` was set
/// is refused; `timeout` and `idleTimeout` hold); several fields of one name come joined into one; phases before the head are one. On Linux
/// a body that is paused goes on into memory. A request's body from a file or a sequence is gathered in memory before it
/// is sent, up to ``mostGathered`` bytes, beyond which the request fails and says so; the server is asked first
/// (`expectsContinue`) as the session thinks best. A long request shares its connection where the session has it so. Cookies,
/// caches and stored credentials are not used. On Linux a server that breaks off in the middle of a head stops the process:
/// docs/transports.md.
public final class URLSessionTransport: Transport {
  private struct State: Sendable {
    var session: URLSession?
    var connections = 0
    var sockets: GateSockets?
  }

  private let template: Template
  private let exchanges = SessionExchanges()
  private let state = Locked(State())

  /// A transport.
  ///
  /// - Parameter configuration: Where the session's settings come from, such as `protocolClasses`, `waitsForConnectivity`
  ///   or network service types. Limits on connections and time, cookies, cache and credentials are set by the transport.
  public init(configuration: URLSessionConfiguration = .ephemeral) { template = Template(configuration) }

  deinit {
    exchanges.cancelAll()
    state.withLock { $0.session.take() }?.finishTasksAndInvalidate()
  }

  /// What the session can do that a request may ask for. Its proxies and its trust are the system's, and none of this
  /// transport's.
  public var capabilities: TransportCapabilities {
    #if canImport(Darwin)
    [.backPressure, .http2, .expectsContinue]
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
    guard let body = exchange.body, body.whole == nil, request.httpBody == nil else {
      send(request, transfer, exchange.request.endPoint)
      return transfer
    }
    BodyGathering(body, upTo: Self.mostGathered) { [weak self] gathered in
      switch gathered {
      case .success(let bytes):
        var request = request
        request.httpBody = Data(bytes)
        // Without the transport its dispatcher is gone too, and has ended the request.
        self?.send(request, transfer, exchange.request.endPoint)
      case .failure(let error): transfer.end(error)
      }
    }.read()
    return transfer
  }

  private func send(_ request: URLRequest, _ transfer: SessionExchange, _ endPoint: EndPoint) {
    let sockets = state.withLock { $0.sockets }
    let most = sockets?.limit(of: endPoint) ?? EndPointLimits.standard.connections
    let task = session(for: most).dataTask(with: request)
    exchanges.add(transfer, for: task)
    transfer.attach(task)
    task.resume()
  }

  /// The largest body that is not from memory already, in bytes: 64 MiB.
  public static let mostGathered = 64 << 20

  /// Notes whose limits say how many connections a session is to have.
  public func use(_ sockets: GateSockets) { state.withLock { $0.sockets = sockets } }

  /// Invalidates the session, which closes its connections.
  public func shutDown(whenClosed: @escaping @Sendable () -> Void) {
    let session = state.withLock { $0.session.take() }
    session?.finishTasksAndInvalidate()
    whenClosed()
  }

  /// The session, which can't change its number of connections: one that has too few finishes what it has and gives way.
  private func session(for connections: Int) -> URLSession {
    let (session, outgrown) = state.withLock { state -> (URLSession, URLSession?) in
      if let session = state.session, connections <= state.connections { return (session, nil) }
      state.connections = max(connections, state.connections, EndPointLimits.standard.requests)
      let outgrown = state.session
      let session = template.session(connections: state.connections, exchanges)
      state.session = session
      return (session, outgrown)
    }
    outgrown?.finishTasksAndInvalidate()
    return session
  }
}

/// What every session of a transport is made from.
// Unchecked: the configuration is a copy of our own, made before anybody else can hold it, and only read and copied.
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
    // Without a queue the session makes a serial one: one call at a time, in order.
    return URLSession(configuration: copy, delegate: exchanges, delegateQueue: nil)
  }
}

extension URLSessionTransport {
  /// A time-out that never comes, in seconds: a hundred years.
  static let never: TimeInterval = 3_155_760_000
}

extension URLRequest {
  /// The request as URLSession sends it; nil when Foundation can't read its URL.
  init?(_ exchange: Exchange) {
    let request = exchange.request
    guard let url = URL(string: request.url) else { return nil }
    self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: URLSessionTransport.never)
    httpMethod = request.method.rawValue
    httpShouldHandleCookies = false
    for field in request.headerFields where !field.name.isTransports {
      addValue(field.value, forHTTPHeaderField: field.name.rawName)
    }
    // HTTPFields holds it taken apart, and a comma is no separator of cookies.
    if let cookies = request.headerFields[.cookie] { setValue(cookies, forHTTPHeaderField: "Cookie") }
    // A body that may be paused must come as it is: nobody can stop in the middle of an inflated block.
    if exchange.mayPause, request.headerFields[.acceptEncoding] == nil {
      setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    }
    if let data = request.body?.origin as? Data {
      httpBody = data
    } else if let whole = exchange.body?.whole {
      httpBody = Data(whole)
    }
    if request.expectsContinue == true { setValue("100-continue", forHTTPHeaderField: "Expect") }
  }
}
