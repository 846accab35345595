/// What a transport can do beyond the plain exchange: a method, fields and a body from memory over TCP or TLS, and the
/// response.
///
/// A transport says what it can (``Transport/capabilities``), and a request what it needs (`DispatchRequest/requires`).
/// One that needs more than its dispatcher's transport can do ends with the error `unsupported`, which names what is
/// missing; nothing is sent, and nothing is left out in silence.
///
/// Settings of a transport, a proxy or a client's certificate, belong to the transport itself: what one lacks can't be set
/// there.
public struct TransportCapabilities: OptionSet, Sendable, Hashable, CustomStringConvertible {
  /// One bit for each.
  public let rawValue: UInt32

  /// A set by its bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// HTTP/2, where a server offers it over TLS: several requests on one socket. A request that needs it and could not go by
  /// it whatever the server offers, such as one over plain http or a stream over libcurl, ends with `unsupported` as well.
  public static let http2 = TransportCapabilities(rawValue: 1)
  /// Open sockets, idle ones included, never exceed an end-point's limit, since each is leased from the gate
  /// (``GateSockets``); else only requests under way do.
  public static let socketLimits = TransportCapabilities(rawValue: 1 << 1)
  /// A body that its consumer holds stays at the server; else it goes on into memory.
  public static let backPressure = TransportCapabilities(rawValue: 1 << 2)
  /// Proxies: from the environment, or one that is given.
  public static let proxy = TransportCapabilities(rawValue: 1 << 3)
  /// End-points that are paths of Unix-domain sockets. Needed by every request to one, whether it says so or not.
  public static let unixSockets = TransportCapabilities(rawValue: 1 << 4)
  /// A certificate by which the client shows who it is.
  public static let clientCertificate = TransportCapabilities(rawValue: 1 << 5)
  /// Authorities to believe in the place of the system's.
  public static let ownAuthority = TransportCapabilities(rawValue: 1 << 6)
  /// Fields that come after the body.
  public static let trailers = TransportCapabilities(rawValue: 1 << 7)
  /// Cookies, by choice.
  public static let cookies = TransportCapabilities(rawValue: 1 << 8)
  /// Times and phases of the name look-up, the connection and the TLS handshake.
  public static let connectPhases = TransportCapabilities(rawValue: 1 << 9)
  /// Bodies that are sent as they are made.
  public static let streamingUpload = TransportCapabilities(rawValue: 1 << 10)
  /// A consumer that is asked about a server's certificate.
  public static let serverTrustChallenge = TransportCapabilities(rawValue: 1 << 11)

  /// Redirects that must not lead to private addresses: the transport knows which address it dials. Needed by every
  /// request whose ``RedirectPolicy`` says so.
  public static let addressRules = TransportCapabilities(rawValue: 1 << 12)

  /// A limit on the time to connect. Needed by every request whose `connectTimeout` was set; the 30 s that one has without
  /// that are left out where the transport can't keep them.
  public static let connectTimeout = TransportCapabilities(rawValue: 1 << 13)

  /// Asking the server before a body is sent. Needed by every request with a body whose `expectsContinue` is true.
  public static let expectsContinue = TransportCapabilities(rawValue: 1 << 14)

  private static let names = [
    "HTTP/2", "limits on sockets", "back-pressure to the socket", "proxies", "Unix-domain sockets",
    "client certificates", "authorities of one's own", "trailers", "cookies", "phases of connecting",
    "streaming uploads", "challenges about a server's trust", "rules for addresses", "a limit on the time to connect",
    "asking before a body is sent",
  ]

  /// Their names, for errors.
  public var description: String {
    Self.names.enumerated().filter { rawValue & 1 << $0.offset != 0 }.map(\.element).joined(separator: ", ")
  }
}

extension Exchange {
  /// Why a transport can't carry it; nil when it can.
  func unmet(by capabilities: TransportCapabilities) -> DispatchError? {
    var needed = request.requires
    if request.endPoint.isUnixSocket { needed.insert(.unixSockets) }
    if request.fields.redirects.refusesPrivateAddresses { needed.insert(.addressRules) }
    if request.fields.needsConnectTimeout { needed.insert(.connectTimeout) }
    if request.fields.hasBody, request.expectsContinue == true { needed.insert(.expectsContinue) }
    var missing = needed.subtracting(capabilities)
    // Over plain http no server offers it.
    if !request.isSecure { missing.formUnion(needed.intersection(.http2)) }
    guard !missing.isEmpty else { return nil }
    return DispatchError(.unsupported, phase: .connecting, detail: "it lacks \(missing)")
  }
}
