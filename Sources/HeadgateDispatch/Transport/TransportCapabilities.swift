/// What a transport supports beyond a plain exchange, which is a method, fields and a body from memory over TCP or
/// TLS, and the response.
///
/// A transport declares its capabilities (``Transport/capabilities``), and a request states what it requires
/// (`DispatchRequest/requires`). If one is missing, the request ends with the error `unsupported`, which names it.
/// Nothing is sent, and no requirement is silently ignored.
///
/// Settings of a transport, such as a proxy or a client certificate, belong to the transport itself: one without the
/// capability does not have the setting.
public struct TransportCapabilities: OptionSet, Sendable, Hashable, CustomStringConvertible {
  /// One bit for each capability.
  public let rawValue: UInt32

  /// Creates a set from its bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// HTTP/2, if a server offers it over TLS: several requests on one socket. A request that requires it but could
  /// never use it, such as one over plain http or a stream over libcurl, also ends with `unsupported`.
  public static let http2 = TransportCapabilities(rawValue: 1)
  /// Open sockets, including idle ones, never exceed an end-point's limit, because each is leased from the gate
  /// (`GateSockets`). Without it, only running requests are limited.
  public static let socketLimits = TransportCapabilities(rawValue: 1 << 1)
  /// A body that its consumer pauses stays at the server. Without it, the body is read into memory.
  public static let backPressure = TransportCapabilities(rawValue: 1 << 2)
  /// Proxies, from the environment or configured.
  public static let proxy = TransportCapabilities(rawValue: 1 << 3)
  /// End-points that are paths of Unix-domain sockets. Required implicitly by every request to one.
  public static let unixSockets = TransportCapabilities(rawValue: 1 << 4)
  /// A certificate that identifies the client.
  public static let clientCertificate = TransportCapabilities(rawValue: 1 << 5)
  /// Custom certificate authorities in place of the system's.
  public static let ownAuthority = TransportCapabilities(rawValue: 1 << 6)
  /// Trailer fields after the body.
  public static let trailers = TransportCapabilities(rawValue: 1 << 7)
  /// Cookies, if enabled.
  public static let cookies = TransportCapabilities(rawValue: 1 << 8)
  /// Times and phases of name look-up, connection and TLS handshake.
  public static let connectPhases = TransportCapabilities(rawValue: 1 << 9)
  /// Bodies that are sent while they are produced.
  public static let streamingUpload = TransportCapabilities(rawValue: 1 << 10)

  /// Redirects that must not lead to private addresses: the transport knows the address that it connects to. Required
  /// implicitly by every request with such a ``RedirectPolicy``.
  public static let addressRules = TransportCapabilities(rawValue: 1 << 11)

  /// A connect timeout. Required implicitly by every request that sets `connectTimeout`; the default of 30 s is
  /// ignored by a transport without it.
  public static let connectTimeout = TransportCapabilities(rawValue: 1 << 12)

  /// `Expect: 100-continue` before a body. Required implicitly by every request with a body whose `expectsContinue`
  /// is true.
  public static let expectsContinue = TransportCapabilities(rawValue: 1 << 13)

  /// Streams over HTTP/2: long requests, and responses that their consumer may pause, share a socket too. A transport with
  /// ``http2`` and without this gives each of them a socket of its own. Then no more of them start at an end-point whose
  /// sockets carry several requests than its `EndPointLimits/connections` less one, which stays for all others, but at
  /// least one. If `EndPointLimits.keepsRoomForShort` is false, they may use all.
  public static let streamsOverHTTP2 = TransportCapabilities(rawValue: 1 << 14)

  /// Bodies of streams and files arrive as the server encoded them. Without it, a body with a `Content-Encoding` may arrive
  /// decoded, and is not continued after a failure.
  public static let encodedBodies = TransportCapabilities(rawValue: 1 << 15)

  private static let names = [
    "HTTP/2", "socket limits", "back-pressure", "proxies", "Unix-domain sockets",
    "client certificates", "custom authorities", "trailers", "cookies", "connection phases",
    "streaming uploads", "address rules", "connect timeouts",
    "Expect: 100-continue", "streams over HTTP/2", "encoded bodies",
  ]

  /// The names of the capabilities, for errors.
  public var description: String {
    Self.names.enumerated().filter { rawValue & 1 << $0.offset != 0 }.map(\.element).joined(separator: ", ")
  }
}

extension Exchange {
  /// Why a transport can't carry the exchange; nil if it can.
  func unmet(by capabilities: TransportCapabilities, isThrottled: Bool = false) -> DispatchError? {
    var needed = request.requires
    let lacksPauses = isThrottled && !capabilities.contains(.backPressure)
    if request.endPoint.isUnixSocket { needed.insert(.unixSockets) }
    if request.redirects.refusesPrivateAddresses { needed.insert(.addressRules) }
    if request.fields.needsConnectTimeout { needed.insert(.connectTimeout) }
    if request.fields.hasBody, request.expectsContinue == true { needed.insert(.expectsContinue) }
    var missing = needed.subtracting(capabilities)
    // No server offers HTTP/2 over plain http.
    if !request.isSecure { missing.formUnion(needed.intersection(.http2)) }
    if lacksPauses {
      return DispatchError(
        .unsupported, phase: .connecting, detail: "it can't pause a response, as a bandwidth limit requires")
    }
    guard !missing.isEmpty else { return nil }
    return DispatchError(.unsupported, phase: .connecting, detail: "it lacks \(missing)")
  }
}
