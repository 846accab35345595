/// The route of a socket, which determines the limits that it counts toward.
public struct SocketRoute: Hashable, Sendable {
  /// An end at which a socket counts. A proxy that is also used directly has a separate limit as an end-point.
  package struct End: Hashable, Sendable {
    package let endPoint: EndPoint
    let isProxy: Bool
  }

  /// The peer that the socket is connected to: the end-point or the proxy.
  public let peer: EndPoint

  /// At most two: a tunnel counts at its proxy and at the end-point behind it.
  package let ends: [End]

  // Nil for a socket to an end-point, whose limit is in the gate.
  private let proxyLimit: Int?

  /// Creates the route to an end-point. Counts toward the end-point's ``EndPointLimits/connections``.
  public init(to endPoint: EndPoint) {
    peer = endPoint
    ends = [End(endPoint: endPoint, isProxy: false)]
    proxyLimit = nil
  }

  /// Creates the route to a proxy.
  ///
  /// - Parameters:
  ///   - proxy: The proxy.
  ///   - connections: The maximum number of open sockets to it, of all transports of the gate.
  ///   - endPoint: The end-point at the other end of a tunnel, where the socket counts too. Nil without a tunnel.
  public init(toProxy proxy: EndPoint, atMost connections: Int, tunnelTo endPoint: EndPoint? = nil) {
    peer = proxy
    ends =
      [End(endPoint: proxy, isProxy: true)] + (endPoint.map { [End(endPoint: $0, isProxy: false)] } ?? [])
    proxyLimit = connections
  }

  /// The maximum number of sockets at one of its ends.
  func limit(at end: End, _ limits: GateLimits) -> Int {
    end.isProxy ? proxyLimit ?? .max : limits.of(end.endPoint).connections
  }
}
