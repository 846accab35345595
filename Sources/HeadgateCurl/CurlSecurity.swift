import HeadgateDispatch
import HeadgateLibC

/// The certificate authorities that a transport trusts.
public struct CurlTrust: Sendable, Hashable, CustomStringConvertible {
  enum Value: Hashable { case system, authority(String), folder(String), any }
  let value: Value

  /// The system's authorities.
  public static let system = CurlTrust(value: .system)

  /// The authorities in a PEM file, instead of the system's.
  public static func authority(file: String) -> CurlTrust { CurlTrust(value: .authority(file)) }

  /// The authorities in a folder of PEM files prepared by `openssl rehash`, instead of the system's.
  public static func authorities(folder: String) -> CurlTrust { CurlTrust(value: .folder(folder)) }

  /// Accepts any certificate: connections are encrypted, but the server is not authenticated. For tests with
  /// temporary certificates. No other setting disables verification.
  public static let insecure = CurlTrust(value: .any)

  /// Its name, as in a program: `system`, `authority(file: ca.pem)`.
  public var description: String {
    switch value {
    case .system: "system"
    case .authority(let file): "authority(file: \(file))"
    case .folder(let folder): "authorities(folder: \(folder))"
    case .any: "insecure"
    }
  }
}

/// The certificate and key with which a client identifies itself to a server.
public struct CurlClientCertificate: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// The PEM file with the certificate and its intermediate certificates.
  public let file: String
  /// The PEM file with the private key. Default: `file`.
  public let keyFile: String
  let password: String?

  /// Creates a client certificate.
  ///
  /// - Parameters:
  ///   - file: The PEM file with the certificate.
  ///   - keyFile: The PEM file with its private key; nil if the key is in `file`.
  ///   - password: The password of the key; nil if it has none.
  public init(file: String, keyFile: String? = nil, password: String? = nil) {
    (self.file, self.keyFile, self.password) = (file, keyFile ?? file, password)
  }

  /// The file, without the password.
  public var description: String { file }

  /// Without the password, for `dump` and for messages about failed expectations.
  public var customMirror: Mirror { Mirror(self, children: ["file": file, "keyFile": keyFile]) }
}

/// The minimum version of TLS.
public struct CurlTLSVersion: Sendable, Hashable, CustomStringConvertible {
  let number: Int

  /// TLS 1.2 and later. The default.
  public static let tls12 = CurlTLSVersion(number: 6)
  /// TLS 1.3 only.
  public static let tls13 = CurlTLSVersion(number: 7)

  /// Its name, as in a program: `tls12`.
  public var description: String { self == .tls12 ? "tls12" : "tls13" }
}

/// The versions of HTTP in use.
public struct CurlHTTPVersion: Sendable, Hashable, CustomStringConvertible {
  private enum Value { case best, http1 }
  private let value: Value

  /// HTTP/2 if a server offers it in the TLS handshake, otherwise HTTP/1.1.
  public static let best = CurlHTTPVersion(value: .best)
  /// HTTP/1.1 only.
  public static let http1 = CurlHTTPVersion(value: .http1)

  /// Its name, as in a program: `http1`.
  public var description: String { "\(value)" }
}

extension CurlTransport.Configuration {
  /// Reports a missing file now rather than at the first request.
  func check() throws(DispatchError) {
    guard !userAgent.utf8.contains(where: { $0 < 0x20 && $0 != UInt8(ascii: "\t") || $0 == 0x7F }) else {
      throw DispatchError(.transportFailed, detail: "the user agent contains control characters")
    }
    switch trust.value {
    case .authority(let file): try check(file, "the certificate authorities")
    case .folder(let folder): try check(folder, "the certificate authorities")
    case .system, .any: break
    }
    if let clientCertificate {
      try check(clientCertificate.file, "the client certificate")
      try check(clientCertificate.keyFile, "the client's key")
    }
  }

  private func check(_ path: String, _ what: String) throws(DispatchError) {
    guard access(path, R_OK) != 0 else { return }
    let reason = String(cString: strerror(errno))
    throw DispatchError(.tlsFailed, phase: .securing, detail: "\(what) in \"\(path)\" can't be read: \(reason)")
  }
}
