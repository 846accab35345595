import ArgumentParser
import HeadgateCurl
import HeadgateDispatch

/// How connections are made: options with the names that users of curl know.
struct ConnectionOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Go through this proxy ([scheme://][user:password@]host[:port], with the scheme http, https, socks4, socks4a, "
        + "socks5 or socks5h), whatever http_proxy, https_proxy and all_proxy say; empty: through none. A "
        + "password given here can be read by others in the process list; one in these variables cannot.",
      valueName: "url"
    )
  )
  var proxy: String?

  @Option(
    name: .customLong("noproxy"),
    help: ArgumentHelp(
      "Hosts without a proxy, with commas in between: names and all below them, addresses, ranges of addresses, or *. In "
        + "the place of no_proxy.",
      valueName: "hosts"
    )
  )
  var noProxy: String?

  @Option(
    help: ArgumentHelp(
      "Believe the authorities in this PEM file, not those that CURL_CA_BUNDLE, SSL_CERT_FILE or SSL_CERT_DIR name, and "
        + "not the system's.", valueName: "file"))
  var cacert: String?

  @Flag(name: [.customShort("k"), .long], help: "Accept any certificate. The server's identity is then unknown.")
  var insecure = false

  @Option(help: ArgumentHelp("Show servers that ask for it the certificate in this PEM file.", valueName: "file"))
  var cert: String?

  @Option(help: ArgumentHelp("The PEM file with the certificate's key, if that is not in it.", valueName: "file"))
  var key: String?

  @Option(
    help: ArgumentHelp(
      "What the key is locked with: env:NAME for the value of an environment variable, file:PATH for a file's first line, "
        + "or the phrase itself, after pass: if it begins like one of these. Others can read the phrase "
        + "itself in the process list.",
      valueName: "phrase"
    ),
    transform: OptionValue.secret
  )
  var pass: Secret?

  @Flag(name: .customLong("tlsv1.2"), help: "TLS 1.2 or newer. This is the default.")
  var tls12 = false

  @Flag(name: .customLong("tlsv1.3"), help: "TLS 1.3 or newer.")
  var tls13 = false

  @Option(
    help: ArgumentHelp(
      "Ask all URLs over the Unix-domain socket of this path; --per-host is for the socket then. Redirects that leave it, "
        + "and URLs that name another one, are refused.",
      valueName: "path"
    ),
    transform: OptionValue.socket
  )
  var unixSocket: EndPoint?

  @Option(
    name: [.customShort("b", allowingJoined: true), .long],
    help: ArgumentHelp(
      "Send these cookies: name=value, or else the file that they are in (as curl and browsers write it), which turns on "
        + "that servers' cookies are kept for the run.",
      valueName: "data|file"
    )
  )
  var cookie: String?

  @Option(
    help: ArgumentHelp(
      "Keep servers' cookies, and write all to this file at the end, which only its owner may read.", valueName: "file")
  )
  var cookieJar: String?

  func validate() throws {
    guard !(insecure && cacert != nil) else {
      throw ValidationError("--insecure and --cacert exclude each other; give one of them.")
    }
    guard cert != nil || key == nil && pass == nil else {
      throw ValidationError("--key and --pass are about a certificate: give --cert as well.")
    }
    do {
      _ = try proxyRule()
    } catch {
      throw ValidationError("--proxy: \(error.detail).")
    }
    guard cookieJar != "" else { throw ValidationError("--cookie-jar needs the name of a file.") }
  }

  /// The cookies to send as they stand; nil where `-b` names a file.
  var cookieField: String? { cookie.flatMap { $0.contains("=") ? $0 : nil } }

  /// The file with cookies; nil where `-b` has them itself.
  var cookieFile: String? { cookie.flatMap { $0.contains("=") || $0.isEmpty ? nil : $0 } }

  /// Whether cookies of servers are kept.
  var keepsCookies: Bool { cookieJar != nil || cookie != nil && cookieField == nil }

  private func proxyRule() throws(DispatchError) -> CurlProxyRule {
    guard let proxy else { return noProxy.map { .environment(except: $0) } ?? .environment }
    return proxy.isEmpty ? .none : .through(try CurlProxy(proxy), except: noProxy ?? "")
  }

  /// Whose certificates are believed: as the options say, else as the variables that curl and OpenSSL read, else as
  /// the system does.
  ///
  /// - Parameter environment: Returns the value of a variable, or nil if it is not set.
  /// - Throws: ``FetchProblem``, which names the variable, when what it names can't be read.
  func trust(_ environment: (String) -> String?) throws(FetchProblem) -> CurlTrust {
    if insecure { return .insecure }
    if let cacert { return .authority(file: cacert) }
    for name in ["CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
      guard let path = environment(name), !path.isEmpty else { continue }
      if name == "SSL_CERT_DIR" { return .authorities(folder: path) }
      do throws(SystemError) {
        Descriptor.close(try Descriptor.openForReading(path))
      } catch {
        throw FetchProblem("the certificates in \(path), which \(name) names, can't be read: \(error)")
      }
      return .authority(file: path)
    }
    return .system
  }

  /// The transport's settings.
  ///
  /// - Parameter cookies: Where cookies are kept; nil: nowhere.
  /// - Throws: ``FetchProblem`` when the key's phrase can't be had, and `DispatchError` for a proxy that is none.
  func configuration(_ cookies: CookieJar?) throws -> CurlTransport.Configuration {
    var configuration = CurlTransport.Configuration()
    configuration.trust = try trust(Environment.value(of:))
    configuration.minimumTLS = tls13 ? .tls13 : .tls12
    configuration.proxy = try proxyRule()
    configuration.clientCertificate = try cert.map {
      CurlClientCertificate(file: $0, keyFile: key, password: try pass?.value(for: "--pass"))
    }
    configuration.cookies = cookies
    return configuration
  }
}
