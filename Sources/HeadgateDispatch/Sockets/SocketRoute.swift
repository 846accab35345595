/// Where a socket leads, which says at which limits it counts.
public struct SocketRoute: Hashable, Sendable {
  /// One of the ends that a socket counts at. A proxy that is asked directly, too, has a limit of its own as an end-point.
  struct End: Hashable, Sendable {
    let endPoint: EndPoint
    let isProxy: Bool
  }

  /// Where the socket is connected to: the end-point, or the proxy.
  public let peer: EndPoint

  /// At most two: a tunnel counts at its proxy and at the end-point behind it.
  let ends: [End]

  // Nil for a socket to an end-point, whose limit is the gate's.
  private let proxyLimit: Int?

  /// A socket to an end-point. It counts at the end-point's ``EndPointLimits/connections``.
  public init(to endPoint: EndPoint) {
    peer = endPoint
    ends = [End(endPoint: endPoint, isProxy: false)]
    proxyLimit = nil
  }

  /// A socket to a proxy.
  ///
  /// - Parameters:
  ///   - proxy: The proxy.
  ///   - connections: How many sockets may be open to it, over all transports of the gate.
  ///   - endPoint: The end-point at the other end of a tunnel, where the socket counts too; nil without a tunnel.
  public init(toProxy proxy: EndPoint, atMost connections: Int, tunnelTo endPoint: EndPoint? = nil) {
    peer = proxy
    ends =
      [End(endPoint: proxy, isProxy: true)] + (endPoint.map { [End(endPoint: $0, isProxy: false)] } ?? [])
    proxyLimit = connections
  }

  /// Whether it counts at an end-point, or at a proxy.
  package func counts(at endPoint: EndPoint, isProxy: Bool) -> Bool {
    ends.contains(End(endPoint: endPoint, isProxy: isProxy))
  }

  /// How many sockets one of its ends tolerates.
  func limit(at end: End, _ limits: GateLimits) -> Int {
    end.isProxy ? proxyLimit ?? .max : limits.of(end.endPoint).connections
  }
}
