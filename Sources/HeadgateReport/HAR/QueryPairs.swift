/// The names and values in a URL's query, decoded.
enum QueryPairs {
  static func of(_ url: String) -> [(name: String, value: String)] {
    let bytes = Array(url.utf8)
    guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return [] }
    let query = bytes[(mark + 1)...].prefix { $0 != UInt8(ascii: "#") }
    return query.split(separator: UInt8(ascii: "&")).map { pair in
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      return (decoded(parts[0]), parts.count > 1 ? decoded(parts[1]) : "")
    }
  }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    var decoded: [UInt8] = []
    var place = bytes.startIndex
    while place < bytes.endIndex {
      let byte = bytes[place]
      if byte == UInt8(ascii: "%"), place + 2 < bytes.endIndex, let high = digit(bytes[place + 1]),
        let low = digit(bytes[place + 2])
      {
        decoded.append(high << 4 | low)
        place += 3
      } else {
        decoded.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
        place += 1
      }
    }
    return String(decoding: decoded, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
  }
}
