import HeadgateThreads

/// A host and a port in canonical form. Limits apply to end-points.
///
/// Different spellings of one end-point are equal: the host is lower-cased, and one trailing dot is removed. An IPv4
/// address is written in dotted form, from any notation (`127.1`, `0x7f000001`), an IPv6 address as in RFC 5952. A
/// URL without a port gets its scheme's default port. An international name is written in its `xn--` form
/// (`bücher.example` is `xn--bcher-kva.example`). An IPv4-mapped IPv6 address (`::ffff:127.0.0.1`) is the IPv4
/// address. A zone distinguishes link-local addresses, and is written as the index of its interface; other addresses
/// have no zone. User information is ignored. Names are not resolved: two names of one machine are two end-points. To
/// limit the requests to a machine with many names, use a gate of its own and its ``GateLimits/total``.
///
/// A Unix-domain socket is an end-point too, with its path in place of host and port.
///
/// Comparing and hashing take O(1) in practice, because the hash is stored.
public struct EndPoint: Hashable, Sendable, CustomStringConvertible {
  private final class Storage: Sendable {
    let host: String
    let port: Int
    let hash: Int

    init(host: String, port: Int) {
      self.host = host
      self.port = port
      var hasher = Hasher()
      hasher.combine(host)
      hasher.combine(port)
      self.hash = hasher.finalize()
    }
  }

  private let storage: Storage

  /// The canonical host; an IPv6 address without brackets. A link-local address may have a zone, written as the index
  /// of its interface: `fe80::1%2`. For a Unix-domain socket its path, which begins with a slash.
  public var host: String { storage.host }

  /// The port, 1 to 65535; 0 for a Unix-domain socket.
  public var port: Int { storage.port }

  /// Creates an end-point from host and port.
  ///
  /// - Parameters:
  ///   - host: A name, an IPv4 address, or an IPv6 address with or without brackets. A zone follows a percent sign,
  ///     which may be escaped inside brackets, as in a URL: `fe80::1%en0`, `[fe80::1%25en0]`.
  ///   - port: 1 to 65535.
  /// - Throws: ``EndPointError`` if the host is empty or invalid, if the port is out of range, if this machine has no
  ///   interface for the zone, or if an address that is not link-local has a zone.
  public init(host: String, port: Int) throws(EndPointError) {
    guard (1...65535).contains(port) else { throw EndPointError(.invalidPort, "\(port)") }
    storage = Storage(host: try CanonicalHost.of(host), port: port)
  }

  /// Creates an end-point from a canonical host and a valid port.
  package init(canonical host: String, port: Int) { storage = Storage(host: host, port: port) }

  /// Creates the end-point of a Unix-domain socket.
  ///
  /// - Parameter path: The socket's absolute path. Redundant slashes and dots (`/run//x`, `/run/./x`) are removed;
  ///   symbolic links and `..` are not resolved.
  /// - Throws: ``EndPointError`` with `invalidPath` if the path is not absolute, is longer than 103 bytes (the
  ///   portable limit), or contains a zero byte.
  public init(unixSocket path: String) throws(EndPointError) {
    let parts = path.utf8.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
    let plain = parts.map { "/" + String(decoding: $0, as: UTF8.self) }.joined()
    guard path.utf8.first == UInt8(ascii: "/"), (2...103).contains(plain.utf8.count), !plain.utf8.contains(0) else {
      throw EndPointError(.invalidPath, path)
    }
    storage = Storage(host: plain, port: 0)
  }

  /// Creates the end-point of a resource of this machine, which has a name and no address: programs that agree on the
  /// name share its permits. Nil unless the name consists of 1 to 64 ASCII letters, digits, `-` and `_`.
  package init?(resource name: String) {
    let isPlain = name.utf8.allSatisfy {
      URLText.isUnreserved($0) && $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "~")
    }
    guard isPlain, (1...64).contains(name.utf8.count) else { return nil }
    storage = Storage(host: name, port: 0)
  }

  /// Whether it is a resource of this machine, which nothing connects to.
  package var isResource: Bool { port == 0 && host.utf8.first != UInt8(ascii: "/") }

  /// Whether it is a Unix-domain socket. If so, ``host`` is its path.
  public var isUnixSocket: Bool { port == 0 }

  /// Whether the host is an IPv6 address, which is written in brackets in a URL.
  public var isIPv6: Bool {
    let colon = UInt8(ascii: ":")
    // Called for each log line: comparing bytes takes a quarter of the time.
    return !isUnixSocket
      && (host.utf8.withContiguousStorageIfAvailable { $0.contains(colon) } ?? host.utf8.contains(colon))
  }

  /// Whether the host is an IPv4 address.
  package var isIPv4: Bool { !isUnixSocket && !isIPv6 && CanonicalHost.endsInNumber(host) }

  /// The host as written in a URL: an IPv6 address in brackets, the percent sign of a zone escaped.
  package var hostInURL: String {
    if isUnixSocket { return URLText.escaped(host) }
    guard isIPv6 else { return host }
    let parts = host.split(separator: "%", maxSplits: 1)
    return "[" + parts.joined(separator: "%25") + "]"
  }

  /// `host:port`, with brackets around an IPv6 address; `unix:/path` for a Unix-domain socket.
  public var description: String {
    if isResource { return host }
    return isUnixSocket ? "unix:\(ShownText.of(host))" : isIPv6 ? "\(hostInURL):\(port)" : "\(host):\(port)"
  }

  /// Whether host and port are the same.
  public static func == (left: EndPoint, right: EndPoint) -> Bool {
    left.storage === right.storage
      || (left.storage.hash == right.storage.hash && left.port == right.port && left.host == right.host)
  }

  /// Hashes the stored hash.
  public func hash(into hasher: inout Hasher) { hasher.combine(storage.hash) }

  /// The default port of a scheme: 80 for http and ws, 443 for https and wss, nil for all others.
  package static func defaultPort(ofScheme scheme: String) -> Int? {
    switch scheme {
    case "http", "ws": 80
    case "https", "wss": 443
    default: nil
    }
  }
}

/// Why a text is not a valid end-point.
public struct EndPointError: HeadgateError, Hashable {
  /// What is wrong. More codes may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs.
    public let description: String

    /// The text is not an absolute URL.
    public static let malformed = Code(description: "malformed")
    /// The host is empty.
    public static let missingHost = Code(description: "missing_host")
    /// The host is neither a name nor an address.
    public static let invalidHost = Code(description: "invalid_host")
    /// The port is not between 1 and 65535.
    public static let invalidPort = Code(description: "invalid_port")
    /// The scheme has no default port, and the URL gives none.
    public static let unknownScheme = Code(description: "unknown_scheme")
    /// An international name that is ambiguous without Unicode's tables: combining accents, symbols, or presentation
    /// forms of letters.
    public static let unclearName = Code(description: "unclear_name")
    /// An invalid path for a Unix-domain socket.
    public static let invalidPath = Code(description: "invalid_path")
  }

  /// What is wrong.
  public let code: Code

  /// The text, or its invalid part; a URL without its password.
  public let text: String

  // Replaces the standard text.
  private let words: String?

  init(_ code: Code, _ text: String, _ words: String? = nil) {
    self.code = code
    self.text = ShownText.withoutPassword(text)
    self.words = words
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// A readable text: what is wrong, and what to do. Invisible characters are escaped.
  public var description: String {
    let text = ShownText.of(text)
    if let words { return "\"\(text)\" \(words)" }
    return switch code {
    case .missingHost: "\"\(text)\" has no host; write it as scheme://host/path"
    case .invalidHost: "\"\(text)\" is not a valid host name or address"
    case .invalidPort: "the port \(text) is not between 1 and 65535"
    case .unknownScheme: "\"\(text)\" needs a port: its scheme has no default one (http, https, ws and wss have one)"
    case .unclearName: "\"\(text)\" is an ambiguous name; write it in its xn-- form"
    case .invalidPath: "\"\(text)\" is not a valid socket path; it must begin with / and have at most 103 bytes"
    default: "\"\(text)\" is not an absolute URL; write it as scheme://host/path"
    }
  }
}
