import HeadgateDispatch
import HeadgateReport

/// The path to a value in a row or response: names of members and indices of arrays, separated by dots.
struct FieldPath: Hashable, Sendable, CustomStringConvertible {
  let names: [String]

  /// The path as written, for messages.
  var description: String {
    ShownText.of(names.map { Self.isPlain($0) ? $0 : "\"\($0)\"" }.joined(separator: "."), atMost: 200)
  }

  /// The value at the path. Nil if there is none.
  func value(in root: JSONValue) -> JSONValue? {
    var value = root
    for name in names {
      let inner: JSONValue? =
        if case .array(let values) = value {
          Int(name).flatMap { values.indices.contains($0) ? values[$0] : nil }
        } else {
          value[name]
        }
      guard let inner else { return nil }
      value = inner
    }
    return value
  }

  /// Parses a path that is the value of an option. A leading dot is ignored, since users of jq write it.
  init(_ text: String) throws(OptionError) {
    let bytes = Array((text.hasPrefix(".") ? text.dropFirst() : text[...]).utf8)
    var place = 0
    guard let path = FieldPath(reading: bytes, from: &place), place == bytes.count else {
      throw OptionError(
        "write names of fields separated by dots, such as usage.total_tokens; quote other names: \"First name\"")
    }
    self = path
  }

  /// Parses the path that starts at `place` in a longer text, and advances `place` to its end. If no path starts there,
  /// returns nil and does not change `place`.
  ///
  /// A name consists of letters, digits, `_` and `-`, and the first name does not begin with a digit or a hyphen. Other
  /// names are quoted.
  init?(reading bytes: [UInt8], from place: inout Int) {
    var (names, end): ([String], Int) = ([], place)
    while true {
      guard let name = Self.name(in: bytes, from: &end, isFirst: names.isEmpty) else { return nil }
      names.append(name)
      guard end < bytes.count, bytes[end] == UInt8(ascii: ".") else { break }
      end += 1
    }
    (self.names, place) = (names, end)
  }

  private static func name(in bytes: [UInt8], from place: inout Int, isFirst: Bool) -> String? {
    guard place < bytes.count else { return nil }
    if bytes[place] == UInt8(ascii: "\"") {
      guard let end = bytes[(place + 1)...].firstIndex(of: UInt8(ascii: "\"")) else { return nil }
      defer { place = end + 1 }
      return String(validating: bytes[(place + 1)..<end], as: UTF8.self)
    }
    let name = bytes[place...].prefix(while: isPlain)
    guard let first = name.first, !isFirst || !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
      !isFirst || first != UInt8(ascii: "-")
    else { return nil }
    place += name.count
    return String(decoding: name, as: UTF8.self)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  private static func isPlain(_ name: String) -> Bool { !name.isEmpty && name.utf8.allSatisfy { isPlain($0) } }
}
