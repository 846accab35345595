extension EndPoint {
  /// Whether it is on this machine, judging by its name: `localhost` and its subdomains (RFC 6761), 127.0.0.0/8, `::1`,
  /// or a Unix-domain socket. Other names may lead to this machine too, which is unknown until they are looked up.
  package var isLoopback: Bool {
    if isUnixSocket || host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
    return host.hasPrefix("127.") && isIPv4
  }
}
