import ArgumentParser
import HeadgateCurl
import HeadgateDispatch

/// How connections are made: options with curl's names.
struct ConnectionOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Use this proxy ([scheme://][user:password@]host[:port], with the scheme http, https, socks4, socks4a, "
        + "socks5 or socks5h) instead of http_proxy, https_proxy and all_proxy; an empty value means none. A "
        + "password given here is visible in the process list; one in these variables is not.",
      valueName: "url"
    )
  )
  var proxy: String?

  @Option(
    name: .customLong("noproxy"),
    help: ArgumentHelp(
      "Hosts without a proxy, separated by commas: names with their subdomains, addresses, address ranges, or *. "
        + "Replaces no_proxy.",
      valueName: "hosts"
    )
  )
  var noProxy: String?

  @Option(
    help: ArgumentHelp(
      "Trust the authorities in this PEM file instead of the system's and those that CURL_CA_BUNDLE, SSL_CERT_FILE or "
        + "SSL_CERT_DIR name.", valueName: "file"), completion: .file())
  var cacert: String?

  @Flag(name: [.customShort("k"), .long], help: "Accept any certificate. The server's identity is then unknown.")
  var insecure = false

  @Option(
    help: ArgumentHelp("Send the certificate in this PEM file to servers that request one.", valueName: "file"),
    completion: .file())
  var cert: String?

  @Option(
    help: ArgumentHelp("The PEM file with the certificate's key, if it is a separate one.", valueName: "file"),
    completion: .file())
  var key: String?

  @Option(
    help: ArgumentHelp(
      "The passphrase of the key: env:NAME for an environment variable, file:PATH for the first line of a file, "
        + "or the passphrase itself, with pass: in front if it begins like one of these. The passphrase "
        + "itself is visible in the process list.",
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
      "Connect through the Unix-domain socket at this path, to which --per-host then applies. Redirects that leave it, "
        + "and URLs with another socket, are refused.",
      valueName: "path"
    ), completion: .file(),
    transform: OptionValue.socket
  )
  var unixSocket: EndPoint?

  @Option(
    name: [.customShort("b", allowingJoined: true), .long],
    help: ArgumentHelp(
      "Send these cookies: name=value, or the name of a cookie file (as written by curl and browsers). A file also "
        + "enables storing the servers' cookies during the run. Repeatable; one may be a file.",
      valueName: "data|file"
    ), completion: .file()
  )
  var cookie: [String] = []

  @Option(
    help: ArgumentHelp(
      "Store the servers' cookies, and write all to this file at the end, readable only by its owner.",
      valueName: "file"), completion: .file()
  )
  var cookieJar: String?

  func validate() throws {
    guard !(insecure && cacert != nil) else {
      throw ValidationError("--insecure and --cacert can't be combined; give one of them.")
    }
    guard cookieFiles.count <= 1 else {
      throw ValidationError("-b can name one cookie file; put the cookies of both into one file.")
    }
    guard cert != nil || key == nil && pass == nil else {
      throw ValidationError("--key and --pass need a certificate: give --cert too.")
    }
    do {
      _ = try proxyRule()
    } catch {
      throw ValidationError("--proxy: \(error.detail).")
    }
  }

  /// The cookies to send literally. Nil if no `-b` contains any.
  var cookieField: String? {
    let literal = cookie.filter { $0.contains("=") }
    return literal.isEmpty ? nil : literal.joined(separator: "; ")
  }

  private var cookieFiles: [String] { cookie.filter { !$0.contains("=") && !$0.isEmpty } }

  /// The cookie file. Nil if no `-b` names one.
  var cookieFile: String? { cookieFiles.first }

  /// Whether servers' cookies are stored.
  var keepsCookies: Bool { cookieJar != nil || cookie.contains { !$0.contains("=") } }

  private func proxyRule() throws(DispatchError) -> CurlProxyRule {
    guard let proxy else { return noProxy.map { .environment(except: $0) } ?? .environment }
    return proxy.isEmpty ? .none : .through(try CurlProxy(proxy), except: noProxy ?? "")
  }

  /// The trusted certificates: as set by the options, otherwise by the variables that curl and OpenSSL read, otherwise
  /// the system's.
  ///
  /// - Parameter environment: Returns the value of a variable, or nil if it is not set.
  /// - Throws: ``FetchProblem`` with the variable's name if its file can't be read.
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
  /// - Parameter cookies: Stores cookies. Nil for none.
  /// - Throws: ``FetchProblem`` if the passphrase can't be read, and `DispatchError` if the proxy is invalid.
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
