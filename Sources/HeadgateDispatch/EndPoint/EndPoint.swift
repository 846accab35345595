import HeadgateThreads

/// A host and a port, in one spelling: what a limit belongs to.
///
/// Two spellings of one end-point are equal: the host is lower-cased, one trailing dot is dropped, an IPv4 address
/// takes its dotted form however it was written (`127.1`, `0x7f000001`), an IPv6 address its form by RFC 5952, and the
/// scheme gives the port where a URL has none. A name in other letters takes its `xn--` form (`bücher.example` is
/// `xn--bcher-kva.example`). An IPv4 address in the form of IPv6 (`::ffff:127.0.0.1`) is the IPv4 address. A zone tells
/// two link-local addresses apart, and is spelled by its interface's index; other addresses have none. User information
/// never counts. Names are not resolved: two names of one machine are two end-points. What runs at a machine with many
/// names is bounded by the ``GateLimits/total`` of a dispatcher for those alone.
///
/// A Unix-domain socket is an end-point too: its path stands in the place of host and port.
///
/// Comparing and hashing cost O(1) in practice: the hash is computed once.
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

  /// The canonical host, an IPv6 address without its brackets. A link-local one has its zone, if it has one, as the
  /// index of the interface: `fe80::1%2`. The path of a Unix-domain socket, which begins with a slash.
  public var host: String { storage.host }

  /// The port, 1 to 65535; 0 for a Unix-domain socket.
  public var port: Int { storage.port }

  /// An end-point by host and port.
  ///
  /// - Parameters:
  ///   - host: A name, an IPv4 address, or an IPv6 address with or without brackets. A zone follows a percent sign,
  ///     which in brackets may be escaped, as in a URL: `fe80::1%en0`, `[fe80::1%25en0]`.
  ///   - port: 1 to 65535.
  /// - Throws: ``EndPointError`` when the host is empty or is no host, or the port is out of range; for a zone that
  ///   this machine has no interface for, and for one of an address that is not link-local.
  public init(host: String, port: Int) throws(EndPointError) {
    guard (1...65535).contains(port) else { throw EndPointError(.invalidPort, "\(port)") }
    storage = Storage(host: try CanonicalHost.of(host), port: port)
  }

  /// The end-point of a Unix-domain socket.
  ///
  /// - Parameter path: The socket's path, absolute. Slashes and dots that say nothing (`/run//x`, `/run/./x`) don't make
  ///   another end-point; symbolic links and `..` do.
  /// - Throws: ``EndPointError`` with `invalidPath` when the path is not absolute, is longer than 103 bytes (what every
  ///   system takes) or has a zero byte in it.
  public init(unixSocket path: String) throws(EndPointError) {
    let parts = path.utf8.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
    let plain = parts.map { "/" + String(decoding: $0, as: UTF8.self) }.joined()
    guard path.utf8.first == UInt8(ascii: "/"), (2...103).contains(plain.utf8.count), !plain.utf8.contains(0) else {
      throw EndPointError(.invalidPath, path)
    }
    storage = Storage(host: plain, port: 0)
  }

  /// Whether it is a Unix-domain socket: then ``host`` is its path.
  public var isUnixSocket: Bool { port == 0 }

  /// An end-point whose host is spelled canonically and whose port is in range.
  init(canonical host: String, port: Int) { storage = Storage(host: host, port: port) }

  /// Whether the host is an IPv6 address, which stands in brackets in a URL.
  public var isIPv6: Bool {
    let colon = UInt8(ascii: ":")
    // Asked for each line of the log: by the bytes themselves that is a quarter of the work.
    return !isUnixSocket
      && (host.utf8.withContiguousStorageIfAvailable { $0.contains(colon) } ?? host.utf8.contains(colon))
  }

  /// The host as it stands in a URL: an IPv6 address in brackets, the percent sign of a zone escaped.
  var hostInURL: String {
    if isUnixSocket { return URLText.escaped(host) }
    guard isIPv6 else { return host }
    let parts = host.split(separator: "%", maxSplits: 1)
    return "[" + parts.joined(separator: "%25") + "]"
  }

  /// `host:port`, with brackets round an IPv6 address; `unix:/path` for a Unix-domain socket.
  public var description: String {
    isUnixSocket ? "unix:\(ShownText.of(host))" : isIPv6 ? "\(hostInURL):\(port)" : "\(host):\(port)"
  }

  /// Whether host and port are the same.
  public static func == (left: EndPoint, right: EndPoint) -> Bool {
    left.storage === right.storage
      || (left.storage.hash == right.storage.hash && left.port == right.port && left.host == right.host)
  }

  /// The hash that was computed with the end-point, by a hasher with this process's seed.
  var storedHash: Int { storage.hash }

  /// Feeds the hash that was computed with the end-point.
  public func hash(into hasher: inout Hasher) { hasher.combine(storage.hash) }

  /// The port that a scheme stands for: 80 for http and ws, 443 for https and wss, nil for all others.
  static func defaultPort(ofScheme scheme: String) -> Int? {
    switch scheme {
    case "http", "ws": 80
    case "https", "wss": 443
    default: nil
    }
  }
}

/// Why a text names no end-point.
public struct EndPointError: HeadgateError, Hashable {
  /// What is wrong. More may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs.
    public let description: String

    /// The text is no absolute URL.
    public static let malformed = Code(description: "malformed")
    /// The host is empty.
    public static let missingHost = Code(description: "missing_host")
    /// The host is neither a name nor an address.
    public static let invalidHost = Code(description: "invalid_host")
    /// The port is not between 1 and 65535.
    public static let invalidPort = Code(description: "invalid_port")
    /// The scheme has no default port, and the URL gives none.
    public static let unknownScheme = Code(description: "unknown_scheme")
    /// A name in other letters that can be read in more than one way without Unicode's tables: accents that stand beside
    /// their letters, symbols, letters in presentation forms.
    public static let unclearName = Code(description: "unclear_name")
    /// A Unix-domain socket's path that can't be one.
    public static let invalidPath = Code(description: "invalid_path")
  }

  /// What is wrong.
  public let code: Code

  /// The text that was given, or the part that is wrong; a URL without its password.
  public let text: String

  // What is said instead of the usual words.
  private let words: String?

  init(_ code: Code, _ text: String, _ words: String? = nil) {
    self.code = code
    self.text = ShownText.withoutPassword(text)
    self.words = words
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// For people: what is wrong, and what to do. Characters that are not seen stand in it as escapes.
  public var description: String {
    let text = ShownText.of(text)
    if let words { return "\"\(text)\" \(words)" }
    return switch code {
    case .missingHost: "\"\(text)\" has no host; write it as scheme://host/path"
    case .invalidHost: "\"\(text)\" is no host name and no address"
    case .invalidPort: "the port \(text) is not between 1 and 65535"
    case .unknownScheme: "\"\(text)\" needs a port: its scheme has no default one (http, https, ws and wss have)"
    case .unclearName: "\"\(text)\" can't be read as a name without doubt; write it in its xn-- form"
    case .invalidPath: "\"\(text)\" is no path of a socket; it must begin with / and have no more than 103 bytes"
    default: "\"\(text)\" is no absolute URL; write it as scheme://host/path"
    }
  }
}
