// For the socket types that its headers declare.
import CCurl
import HeadgateLibC

/// A query to the system resolver.
enum NameLookup {
  /// Looks a name up. Blocks as long as the resolver takes.
  static func answer(for name: String) -> NameAnswer {
    var hints = addrinfo()
    // The same query as libcurl's: addresses that can't be dialled are useless.
    hints.ai_family = hasIPv6 ? AF_UNSPEC : AF_INET
    hints.ai_socktype = streamType
    var list: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(name, nil, &hints, &list)
    guard result == 0, let first = list else {
      let detail = "Could not resolve host: \(name) (\(String(cString: gai_strerror(result))))"
      return .failed(NameFailure(detail: detail, isAuthoritative: result == EAI_NONAME || result == noAddress))
    }
    defer { freeaddrinfo(first) }
    var addresses: [String] = []
    var place = list
    while let entry = place {
      // The list may contain duplicates.
      if let text = numeric(entry.pointee), !addresses.contains(text) { addresses.append(text) }
      place = entry.pointee.ai_next
    }
    return .addresses(addresses)
  }

  // EAI_NODATA: the name exists but has no address. Some C libraries' headers lack it.
  #if canImport(Darwin)
  private static let noAddress: Int32 = 7
  #else
  private static let noAddress: Int32 = -5
  #endif

  private static let hasIPv6: Bool = {
    let descriptor = socket(AF_INET6, streamType, 0)
    guard descriptor >= 0 else { return false }
    close(descriptor)
    return true
  }()

  /// Nil if it is not an IP address, or has a zone, which libcurl does not accept in a list. If there is no other
  /// address, libcurl looks the name up itself.
  private static func numeric(_ entry: addrinfo) -> String? {
    guard entry.ai_family == AF_INET || entry.ai_family == AF_INET6 else { return nil }
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard
      getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
    else { return nil }
    let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return address.utf8.contains(UInt8(ascii: "%")) ? nil : address
  }
}

#if canImport(Glibc)
private let streamType = Int32(SOCK_STREAM.rawValue)
#else
private let streamType = SOCK_STREAM
#endif
