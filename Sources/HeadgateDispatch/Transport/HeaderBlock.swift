// Header lines as bytes: RFC 9112 section 5. Lines that are not fields are skipped: the status line, malformed lines,
// and obsolete continuations (which CurlTransport has already joined to their fields).

import HTTPTypes

package enum HeaderBlock {
  package static func fields(in block: [UInt8]) -> HTTPFields {
    var fields = HTTPFields()
    forEachLine(in: block) { line in
      let line = block[line]
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
        let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
      else { return }
      fields.append(HTTPField(name: name, value: text(trimmed(line[(colon + 1)...]))))
    }
    return fields
  }

  /// The value of a field. Several fields of one name are joined by ", ". The name is given in lower case.
  static func value(of canonicalName: String, in block: [UInt8]) -> String? {
    let values = values(of: canonicalName, in: block)
    return values.isEmpty ? nil : values.map(text).joined(separator: ", ")
  }

  /// The values of all fields of one name, as bytes. The name is given in lower case.
  static func values(of canonicalName: String, in block: [UInt8]) -> [ArraySlice<UInt8>] {
    let name = canonicalName.utf8
    var found: [ArraySlice<UInt8>] = []
    forEachLine(in: block) { line in
      let colon = line.lowerBound + name.count
      // Hardly any other line has a colon in this place.
      guard colon < line.upperBound, block[colon] == UInt8(ascii: ":"),
        zip(block[line], name).allSatisfy({ lower($0) == $1 })
      else { return }
      found.append(trimmed(block[(colon + 1)..<line.upperBound]))
    }
    return found
  }

  /// Whether the block may have a quota field.
  static func mayTellQuotas(_ block: [UInt8]) -> Bool {
    var mayTell = false
    forEachLine(in: block) { line in
      mayTell = mayTell || block[line].withUnsafeBytes { mayTellQuotas(line: $0) }
    }
    return mayTell
  }

  /// Whether a line begins like the name of a quota field, ignoring case. Allocates nothing.
  package static func mayTellQuotas(line: UnsafeRawBufferPointer) -> Bool {
    guard let first = line.first else { return false }
    switch first | 0x20 {
    case UInt8(ascii: "a"): return begins(line, "anthropic-ratelimit")
    case UInt8(ascii: "r"): return begins(line, "ratelimit")
    case UInt8(ascii: "x"): return begins(line, "x-rate")
    default: return false
    }
  }

  private static func begins(_ bytes: UnsafeRawBufferPointer, _ canonical: StaticString) -> Bool {
    let name = UnsafeBufferPointer(start: canonical.utf8Start, count: canonical.utf8CodeUnitCount)
    return bytes.count >= name.count && zip(bytes, name).allSatisfy { lower($0) == $1 }
  }

  private static func forEachLine(in block: [UInt8], _ body: (Range<Int>) -> Void) {
    var start = 0
    while start < block.count {
      let end = block[start...].firstIndex(of: UInt8(ascii: "\n")) ?? block.count
      body(start..<end)
      start = end + 1
    }
  }

  // A lone carriage return or a NUL becomes a space, as RFC 9110 section 5.5 requires.
  private static func text(_ value: ArraySlice<UInt8>) -> String {
    func isControl(_ byte: UInt8) -> Bool { byte == 0 || byte == UInt8(ascii: "\r") }
    guard value.contains(where: isControl) else { return String(decoding: value, as: UTF8.self) }
    return String(decoding: value.map { isControl($0) ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
  }

  private static func trimmed(_ slice: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let slice = slice.drop { $0 <= UInt8(ascii: " ") }
    let end = slice.lastIndex { $0 > UInt8(ascii: " ") }
    return end.map { slice[...$0] } ?? slice
  }

  private static func lower(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
