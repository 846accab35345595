// Which addresses are not reachable from the public Internet: IANA's special-purpose registries (RFC 6890), and the
// IPv4 addresses embedded in IPv6 addresses (RFC 4291 section 2.5.5, RFC 6052, RFC 3056).

import HeadgateLibC

/// Distinguishes private from public addresses.
///
/// An address is private if it is not globally reachable: loopback, private networks, link-local (which includes the
/// metadata services of clouds), shared address space, documentation and benchmark ranges, multicast, and reserved
/// ranges.
public enum AddressScope {
  /// Whether an address is private.
  ///
  /// - Parameter text: An IPv4 address in its dotted form, or an IPv6 address without brackets, with or without a zone.
  /// - Returns: Nil if the text is neither.
  public static func isPrivate(_ text: String) -> Bool? {
    var four = in_addr()
    if inet_pton(AF_INET, text, &four) == 1 {
      return withUnsafeBytes(of: four) { isPrivate(ipv4: Array($0)) }
    }
    var six = in6_addr()
    let withoutZone = String(text.prefix { $0 != "%" })
    guard inet_pton(AF_INET6, withoutZone, &six) == 1 else { return nil }
    return withUnsafeBytes(of: six) { isPrivate(ipv6: Array($0)) }
  }

  /// Whether an IPv4 address is private: its four bytes.
  static func isPrivate(ipv4 bytes: some Sequence<UInt8>) -> Bool {
    let number = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return ipv4Ranges.contains { number >> (32 - $0.bits) == $0.prefix >> (32 - $0.bits) }
  }

  // 192.0.0.9 and 192.0.0.10 are public according to the registry, but no web server uses them.
  private static let ipv4Ranges: [(prefix: UInt32, bits: UInt32)] = [
    (0x0000_0000, 8),  // this network
    (0x0A00_0000, 8),  // private
    (0x6440_0000, 10),  // shared, behind a carrier's NAT
    (0x7F00_0000, 8),  // loopback
    (0xA9FE_0000, 16),  // link-local
    (0xAC10_0000, 12),  // private
    (0xC000_0000, 24),  // protocol assignments
    (0xC000_0200, 24),  // documentation
    (0xC0A8_0000, 16),  // private
    (0xC612_0000, 15),  // benchmarks
    (0xC633_6400, 24),  // documentation
    (0xCB00_7100, 24),  // documentation
    (0xE000_0000, 4),  // multicast
    (0xF000_0000, 4),  // reserved, broadcast
  ]

  /// Whether an IPv6 address is private: its sixteen bytes.
  static func isPrivate(ipv6 bytes: [UInt8]) -> Bool {
    func starts(_ prefix: UInt8...) -> Bool { bytes.starts(with: prefix) }
    // Mapped and compatible IPv4 addresses; `::` and `::1` are among the latter.
    if bytes[..<10].allSatisfy({ $0 == 0 }) {
      return bytes[10] == bytes[11] && (bytes[10] == 0 || bytes[10] == 0xFF) ? isPrivate(ipv4: bytes[12...]) : true
    }
    // IPv4 translation (64:ff9b::/96), and the IPv4 networks of 6to4.
    if starts(0, 0x64, 0xFF, 0x9B), bytes[4..<12].allSatisfy({ $0 == 0 }) { return isPrivate(ipv4: bytes[12...]) }
    if starts(0x20, 0x02) { return isPrivate(ipv4: bytes[2..<6]) }
    // Documentation, and the other special-purpose networks of 2001::/23 (Teredo among them).
    if starts(0x3F, 0xFF), bytes[2] < 0x10 { return true }
    if starts(0x20, 0x01, 0x0D, 0xB8) || starts(0x20, 0x01) && bytes[2] < 2 { return true }
    // Public addresses are assigned from 2000::/3 only.
    return bytes[0] >> 5 != 1
  }
}

extension EndPoint {
  /// Whether data sent there stays on this machine, judging by the name: a Unix-domain socket, a loopback address, or
  /// `localhost`.
  var isThisMachine: Bool {
    if isUnixSocket || host == "localhost" || host == "::1" { return true }
    var address = in_addr()
    return inet_pton(AF_INET, host, &address) == 1 && withUnsafeBytes(of: address) { $0.first } == 127
  }
}
