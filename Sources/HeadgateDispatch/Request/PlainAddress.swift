/// The URL that nearly every request has: `http://name:port/path?query` in canonical spelling already, with nothing to
/// decode, resolve or leave out. Recognized in one pass over its bytes; all others go through Foundation's parser, which
/// took a third of the dispatcher's own time for a request.
struct PlainAddress {
  let isSecure: Bool
  let host: String
  let port: Int

  init?(_ text: String) {
    let bytes = text.utf8
    var index = bytes.startIndex
    func skip(_ prefix: StaticString) -> Bool {
      var position = index
      for offset in 0..<prefix.utf8CodeUnitCount {
        guard position < bytes.endIndex, bytes[position] == prefix.utf8Start[offset] else { return false }
        position = bytes.index(after: position)
      }
      index = position
      return true
    }
    if skip("http://") { isSecure = false } else if skip("https://") { isSecure = true } else { return nil }

    let hostStart = index
    while index < bytes.endIndex, Self.isHostByte(bytes[index]) { index = bytes.index(after: index) }
    let hostBytes = bytes[hostStart..<index]
    guard let last = hostBytes.last, last != UInt8(ascii: "."), index < bytes.endIndex else { return nil }

    var port = 0
    if bytes[index] == UInt8(ascii: ":") {
      index = bytes.index(after: index)
      let portStart = index
      while index < bytes.endIndex, port <= 65535, let digit = Self.digit(bytes[index]) {
        port = port * 10 + digit
        index = bytes.index(after: index)
      }
      // A default port, or one with a leading zero, has a shorter spelling.
      guard index < bytes.endIndex, (1...65535).contains(port), bytes[portStart] != UInt8(ascii: "0"),
        port != (isSecure ? 443 : 80)
      else { return nil }
    } else {
      port = isSecure ? 443 : 80
    }
    guard bytes[index] == UInt8(ascii: "/"), bytes[index...].allSatisfy(Self.isPathByte) else { return nil }
    self.port = port
    host = String(decoding: hostBytes, as: UTF8.self)
    // An address in an odd spelling is not plain: its canonical form belongs into the URL.
    guard last > UInt8(ascii: "9") || (try? CanonicalHost.of(host)) == host else { return nil }
  }

  private static func digit(_ byte: UInt8) -> Int? {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? Int(byte &- UInt8(ascii: "0")) : nil
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: false
    }
  }

  // What RFC 3986 allows in a path or query as it is. A percent sign, a fragment and the rest go the long way.
  private static func isPathByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "&")...UInt8(ascii: "/"), UInt8(ascii: "0")...UInt8(ascii: ";"): true
    case UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "="), UInt8(ascii: "?"), UInt8(ascii: "@"): true
    case UInt8(ascii: "!"), UInt8(ascii: "$"): true
    default: false
    }
  }
}
