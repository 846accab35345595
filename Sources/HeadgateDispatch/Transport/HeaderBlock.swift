// Header lines as bytes: RFC 9112 section 5. A line that is no field is passed over: the status line, a broken one, an
// obsolete continuation (which CurlTransport has joined to its field before).

import HTTPTypes

package enum HeaderBlock {
  package static func fields(in block: [UInt8]) -> HTTPFields {
    var fields = HTTPFields()
    forEachLine(in: block) { name, value in
      if let name = HTTPField.Name(String(decoding: name, as: UTF8.self)) {
        fields.append(HTTPField(name: name, value: text(value)))
      }
    }
    return fields
  }

  /// The value of a field whose name is given in lower case.
  static func value(of canonicalName: String, in block: [UInt8]) -> String? {
    var found: String?
    forEachLine(in: block) { name, value in
      guard isNamed(name, canonicalName) else { return }
      let text = HeaderBlock.text(value)
      // In place: a head may hold thousands of one name.
      if found == nil { found = text } else { found?.append(", " + text) }
    }
    return found
  }

  /// The value of a field that stands once, as it came; nil where it stands never, or more than once.
  ///
  /// - Parameter canonicalName: The name in lower case.
  static func bytes(of canonicalName: String, in block: [UInt8]) -> [UInt8]? {
    var found: [ArraySlice<UInt8>] = []
    forEachLine(in: block) { name, value in if isNamed(name, canonicalName) { found.append(value) } }
    return found.count == 1 ? found.first.map { Array($0) } : nil
  }

  private static func isNamed(_ name: ArraySlice<UInt8>, _ canonicalName: String) -> Bool {
    name.count == canonicalName.utf8.count && zip(name, canonicalName.utf8).allSatisfy { lower($0) == $1 }
  }

  private static func forEachLine(in block: [UInt8], _ body: (ArraySlice<UInt8>, ArraySlice<UInt8>) -> Void) {
    for line in block.split(separator: UInt8(ascii: "\n")) {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
        !line.prefix(upTo: colon).contains(where: { $0 <= UInt8(ascii: " ") })
      else { continue }
      body(line.prefix(upTo: colon), trimmed(line.suffix(from: colon + 1)))
    }
  }

  // A lone carriage return or a zero becomes a space, as RFC 9110 section 5.5 has it.
  private static func text(_ value: ArraySlice<UInt8>) -> String {
    func isControl(_ byte: UInt8) -> Bool { byte == 0 || byte == UInt8(ascii: "\r") }
    guard value.contains(where: isControl) else { return String(decoding: value, as: UTF8.self) }
    return String(decoding: value.map { isControl($0) ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
  }

  private static func trimmed(_ slice: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var slice = slice
    while let first = slice.first, first <= UInt8(ascii: " ") { slice = slice.dropFirst() }
    while let last = slice.last, last <= UInt8(ascii: " ") { slice = slice.dropLast() }
    return slice
  }

  private static func lower(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
