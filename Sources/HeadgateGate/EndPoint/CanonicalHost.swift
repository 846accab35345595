// The canonical spelling of a host: RFC 3986 section 3.2.2 (hosts), RFC 5952 (IPv6), and the IPv4 notations of
// inet_aton.
//
// If two spellings became two end-points, their limits would add up at the one server behind them.

import HeadgateLibC

package enum CanonicalHost {
  /// The length in bytes of the canonical host with which a text begins: a name or an IPv4 address. Nil if the text does
  /// not begin with one. Reads each byte once.
  package static func canonicalPrefix(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    // The label that is being read, and how many labels are numbers from 0 to 255 without leading zeros.
    var (count, label, number, labels, numbers) = (0, 0, 0, 0, 0)
    func endLabel() -> Bool {
      labels += 1
      if number >= 0, label > 0 { numbers += 1 }
      defer { (label, number) = (0, 0) }
      return label > 0
    }
    scan: for byte in bytes {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        let isPadded = label > 0 && number == 0
        if number >= 0 { number = isPadded ? -2 : number * 10 + Int(byte - UInt8(ascii: "0")) }
        if number > 255 { number = -2 }
        label += 1
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        (label, number) = (label + 1, -1)
      case UInt8(ascii: "."): if !endLabel() { return nil }
      default: break scan
      }
      count += 1
    }
    // A last label that begins with a digit may make an address of it, in one of many notations.
    let endsInName = number == -1 && bytes[count - label] > UInt8(ascii: "9")
    guard count > 0, count <= 253, endLabel(), endsInName || numbers == 4 && labels == 4 else { return nil }
    return count
  }

  static func of(_ text: String) throws(EndPointError) -> String {
    // Most hosts are.
    if text.utf8.withContiguousStorageIfAvailable({ canonicalPrefix($0) == $0.count }) == true { return text }
    if text.utf8.first == UInt8(ascii: "["), text.utf8.last == UInt8(ascii: "]") {
      return try ipv6(String(text.dropFirst().dropLast()), text)
    }
    if text.utf8.contains(UInt8(ascii: ":")) { return try ipv6(text, text) }
    var host = text.lowercased()
    if !text.utf8.allSatisfy({ $0 < 0x80 }) {
      guard let name = InternationalName.ascii(text) else { throw EndPointError(.unclearName, text) }
      host = name
    }
    if host.utf8.last == UInt8(ascii: ".") { host.removeLast() }
    guard !host.isEmpty else { throw EndPointError(.missingHost, text) }
    guard host.utf8.count <= 253, host.utf8.allSatisfy(isNameByte), !hasEmptyLabel(host) else {
      throw EndPointError(.invalidHost, text)
    }
    return endsInNumber(host) ? try ipv4(host, text) : host
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  // Letters, digits, hyphen and dot, and the underscore used in service names.
  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
    default: false
    }
  }

  private static func hasEmptyLabel(_ host: String) -> Bool {
    host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).contains(where: \.isEmpty)
  }

  // A host whose last label is a number is an address, never a name: no top-level domain is a number.
  static func endsInNumber(_ host: String) -> Bool {
    let start = host.utf8.lastIndex(of: UInt8(ascii: ".")).map { host.utf8.index(after: $0) } ?? host.utf8.startIndex
    let last = host.utf8[start...]
    if last.allSatisfy(isDigit) { return true }
    return last.starts(with: "0x".utf8) && last.dropFirst(2).allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
  }

  private static func ipv4(_ host: String, _ text: String) throws(EndPointError) -> String {
    var address = in_addr()
    guard inet_aton(host, &address) == 1 else { throw EndPointError(.invalidHost, text) }
    return withUnsafeBytes(of: address.s_addr) { $0.map { String($0) }.joined(separator: ".") }
  }

  private static func ipv6(_ written: String, _ text: String) throws(EndPointError) -> String {
    let parts = written.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    let host = parts[0].lowercased()
    // Also rejects a NUL byte, at which the system's parser would stop.
    guard host.utf8.allSatisfy({ $0 == UInt8(ascii: ":") || isNameByte($0) }) else {
      throw EndPointError(.invalidHost, text)
    }
    var address = in6_addr()
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_pton(AF_INET6, host, &address) == 1,
      inet_ntop(AF_INET6, &address, &buffer, socklen_t(INET6_ADDRSTRLEN)) != nil
    else { throw EndPointError(.invalidHost, text) }
    let bytes = withUnsafeBytes(of: address) { Array($0) }
    let isLinkLocal = bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
    guard isLinkLocal || parts.count == 1 else {
      throw EndPointError(
        .invalidHost, text, "has a zone, which only link-local addresses (fe80::/10) have; leave it out")
    }
    // An IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) is dialled as that IPv4 address.
    if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
      return bytes[12...].map { String($0) }.joined(separator: ".")
    }
    let spelled = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard parts.count == 2 else { return spelled }
    // In a URL, where the address is in brackets, the percent sign is escaped (RFC 6874).
    let isEscaped = text.utf8.first == UInt8(ascii: "[") && parts[1].hasPrefix("25") && parts[1].utf8.count > 2
    let name = isEscaped ? parts[1].dropFirst(2) : parts[1]
    guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(URLText.isUnreserved) else {
      throw EndPointError(.invalidHost, text)
    }
    guard let zone = zone(name) else {
      throw EndPointError(.invalidHost, text, "has a zone that is not an interface of this machine")
    }
    return zone == 0 ? spelled : "\(spelled)%\(zone)"
  }

  // The index of the interface, given by number or name; 0 means no interface. Interface names are case-sensitive.
  private static func zone(_ text: Substring) -> UInt32? {
    if text.utf8.allSatisfy(isDigit) { return UInt32(text) }
    let index = if_nametoindex(String(text))
    return index == 0 ? nil : index
  }
}
