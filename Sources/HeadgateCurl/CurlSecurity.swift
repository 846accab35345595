import HeadgateDispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Whose certificates a transport believes.
public struct CurlTrust: Sendable, Hashable {
  enum Value: Hashable { case system, authority(String), folder(String), nobody }
  let value: Value

  /// The system's authorities.
  public static let system = CurlTrust(value: .system)

  /// The authorities in a PEM file, instead of the system's.
  public static func authority(file: String) -> CurlTrust { CurlTrust(value: .authority(file)) }

  /// The authorities in a folder of PEM files that `openssl rehash` has prepared, instead of the system's.
  public static func authorities(folder: String) -> CurlTrust { CurlTrust(value: .folder(folder)) }

  /// Anyone: the connection is encrypted, and nobody knows with whom. For tests with throw-away certificates. No other
  /// setting switches verification off.
  public static let insecure = CurlTrust(value: .nobody)
}

/// What a client shows a server that asks who it is: a certificate and its key.
public struct CurlClientCertificate: Sendable, Hashable {
  /// The PEM file with the certificate, and those that vouch for it.
  public let file: String
  /// The PEM file with the private key; the same as `file` unless given.
  public let keyFile: String
  let password: String?

  /// A client's certificate.
  ///
  /// - Parameters:
  ///   - file: The PEM file with the certificate.
  ///   - keyFile: The PEM file with its private key; nil: it is in `file` too.
  ///   - password: What the key is locked with; nil for one that is not.
  public init(file: String, keyFile: String? = nil, password: String? = nil) {
    (self.file, self.keyFile, self.password) = (file, keyFile ?? file, password)
  }
}

/// The oldest version of TLS that is good enough.
public struct CurlTLSVersion: Sendable, Hashable {
  let number: Int

  /// TLS 1.2 and later: what a transport takes unless told otherwise.
  public static let tls12 = CurlTLSVersion(number: 6)
  /// TLS 1.3 only.
  public static let tls13 = CurlTLSVersion(number: 7)
}

/// Which versions of HTTP are spoken.
public struct CurlHTTPVersion: Sendable, Hashable {
  private enum Value { case best, http1 }
  private let value: Value

  /// HTTP/2 where a server offers it in the TLS handshake, else HTTP/1.1.
  public static let best = CurlHTTPVersion(value: .best)
  /// HTTP/1.1 only.
  public static let http1 = CurlHTTPVersion(value: .http1)
}

extension CurlTransport.Configuration {
  /// Finds a file that is missing now, and not at the first request.
  func check() throws(DispatchError) {
    guard !userAgent.utf8.contains(where: { $0 < 0x20 && $0 != UInt8(ascii: "\t") || $0 == 0x7F }) else {
      throw DispatchError(.transportFailed, detail: "the user agent has control characters in it")
    }
    switch trust.value {
    case .authority(let file): try check(file, "the authorities")
    case .folder(let folder): try check(folder, "the authorities")
    case .system, .nobody: break
    }
    if let clientCertificate {
      try check(clientCertificate.file, "the client's certificate")
      try check(clientCertificate.keyFile, "the client's key")
    }
  }

  private func check(_ path: String, _ what: String) throws(DispatchError) {
    guard access(path, R_OK) != 0 else { return }
    let reason = String(cString: strerror(errno))
    throw DispatchError(.tlsFailed, phase: .securing, detail: "\(what) in \"\(path)\" can't be read: \(reason)")
  }
}
