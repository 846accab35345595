import HeadgateDispatch
import HeadgateLibC

/// The proxies of a transport. The environment is read here, once, rather than by libcurl: before a socket is opened,
/// it must be known at which end-point it counts.
struct ProxyChoice: Sendable {
  private var plain: CurlProxy?
  private var secure: CurlProxy?
  private var exceptions = ProxyExceptions("")

  private init() {}

  init(_ rule: CurlProxyRule) throws(DispatchError) {
    switch rule.value {
    case .none: self.init()
    case .environment(let hosts):
      try self.init(environment: { name in getenv(name).map { String(cString: $0) } })
      if let hosts { exceptions = ProxyExceptions(hosts) }
    case .fixed(let proxy, let hosts):
      self.init()
      (plain, secure) = (proxy, proxy)
      exceptions = ProxyExceptions(hosts)
    }
  }

  init(environment: (String) -> String?) throws(DispatchError) {
    func proxy(_ names: [String]) throws(DispatchError) -> CurlProxy? {
      guard let name = names.first(where: { environment($0) != nil }), let url = environment(name), !url.isEmpty else {
        return nil
      }
      do {
        return try CurlProxy(url)
      } catch {
        throw DispatchError(.proxyFailed, phase: .connecting, detail: "environment variable \(name): \(error.detail)")
      }
    }
    plain = try proxy(["http_proxy", "all_proxy", "ALL_PROXY"])
    secure = try proxy(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
    exceptions = ProxyExceptions(environment("no_proxy") ?? environment("NO_PROXY") ?? "")
  }

  /// Whether there are no proxies.
  var isEmpty: Bool { plain == nil && secure == nil }

  /// The proxy for a request; nil for none.
  func proxy(for request: DispatchRequest) -> CurlProxy? {
    guard let proxy = request.isSecure ? secure : plain, !request.endPoint.isUnixSocket,
      !exceptions.contains(request.endPoint.host)
    else { return nil }
    return proxy
  }

  /// Whether an end-point is a proxy.
  func isProxy(_ endPoint: EndPoint) -> Bool { plain?.endPoint == endPoint || secure?.endPoint == endPoint }
}

/// Hosts without a proxy: `no_proxy`.
struct ProxyExceptions: Sendable {
  private var isAll = false
  private var names: [String] = []
  private var ranges: [AddressRange] = []

  init(_ list: String) {
    for item in list.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }) {
      let item = item.lowercased()
      if item == "*" {
        isAll = true
      } else if let range = AddressRange(item) {
        ranges.append(range)
      } else {
        let name = item.drop { $0 == "." }
        names.append(String(name.last == "." ? name.dropLast() : name))
      }
    }
  }

  func contains(_ host: String) -> Bool {
    if isAll { return true }
    if let address = AddressRange(host) { return ranges.contains { $0.contains(address) } }
    return names.contains { !$0.isEmpty && (host == $0 || host.hasSuffix("." + $0)) }
  }
}

/// An address, or a range of addresses with a common prefix: `10.0.0.0/8`.
private struct AddressRange: Sendable {
  private let bytes: [UInt8]
  private let bits: Int

  /// Nil if the text is not an address.
  init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    var host = parts[0]
    if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
    // A zone has a meaning only on this machine.
    host = host.prefix { $0 != "%" }
    var four = in_addr()
    var six = in6_addr()
    if inet_pton(AF_INET, String(host), &four) == 1 {
      bytes = withUnsafeBytes(of: &four) { Array($0) }
    } else if inet_pton(AF_INET6, String(host), &six) == 1 {
      bytes = withUnsafeBytes(of: &six) { Array($0) }
    } else {
      return nil
    }
    guard parts.count > 1 else {
      bits = bytes.count * 8
      return
    }
    guard let number = Int(parts[1]), (0...bytes.count * 8).contains(number) else { return nil }
    bits = number
  }

  func contains(_ other: AddressRange) -> Bool {
    guard bytes.count == other.bytes.count, other.bits >= bits else { return false }
    for index in bytes.indices where index * 8 < bits {
      let mask = UInt8(truncatingIfNeeded: 0xFF00 >> min(8, bits - index * 8))
      if (bytes[index] ^ other.bytes[index]) & mask != 0 { return false }
    }
    return true
  }
}
