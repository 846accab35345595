import HeadgateDispatch

extension EndPoint {
  /// Whether it is this machine itself, by its name: `localhost` and what is below it (RFC 6761), 127.0.0.0/8, `::1`, a
  /// Unix-domain socket. Other names may lead here too, which is unknown until they are looked up.
  var isLoopback: Bool {
    if isUnixSocket || host == "localhost" || host.hasSuffix(".localhost") { return true }
    let address = host.filter { $0 != "[" && $0 != "]" }
    return address == "::1" || address.hasPrefix("127.") && AddressScope.isPrivate(address) == true
  }
}
