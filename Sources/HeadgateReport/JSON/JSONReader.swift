/// Parses one JSON value strictly, as RFC 8259 defines it. It also rejects what other parsers interpret in different
/// ways (RFC 7493): duplicate names in an object, unpaired surrogates, and text that is not UTF-8.
///
/// For data from outside: nesting is limited, so that no input can exhaust the stack, and time and memory are linear in
/// the number of bytes.
package struct JSONReader {
  /// The maximum nesting depth of arrays and objects.
  package static let deepest = 128

  private let bytes: [UInt8]
  private var place = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Parses a value that may be surrounded by white space.
  package static func read(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
    var reader = JSONReader(bytes)
    let value = try reader.value(depth: 0)
    reader.skipSpace()
    guard reader.place == bytes.count else { throw reader.error("there is more text after the value") }
    return value
  }

  private func error(_ reason: String) -> JSONError { JSONError(reason: reason, offset: place) }

  private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
  }

  /// Consumes a byte if it comes next.
  private mutating func take(_ byte: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: byte) else { return false }
    place += 1
    return true
  }

  private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return try object(depth: depth + 1)
    case UInt8(ascii: "["): return try array(depth: depth + 1)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case nil: throw error("a value is missing at the end")
    case let byte? where byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte): return .number(try number())
    default: throw error("expected a value")
    }
  }

  private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
    guard word.withUTF8Buffer({ bytes[place...].starts(with: $0) }) else { throw error("expected a value") }
    place += word.utf8CodeUnitCount
    return value
  }

  private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
    guard depth <= Self.deepest else { throw error("nested more than \(Self.deepest) levels deep") }
    place += 1
    var values: [JSONValue] = []
    skipSpace()
    if take("]") { return .array(values) }
    while true {
      values.append(try value(depth: depth))
      skipSpace()
      if take("]") { return .array(values) }
      guard take(",") else { throw error("a comma or ] is missing") }
    }
  }

  private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
    guard depth <= Self.deepest else { throw error("nested more than \(Self.deepest) levels deep") }
    place += 1
    var members: [JSONMember] = []
    var names = JSONNames()
    skipSpace()
    if take("}") { return .object(members) }
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw error("expected a member name in quotation marks") }
      let start = place
      let name = try string()
      guard names.insert(name, after: members) else {
        throw JSONError(reason: "a name occurs twice in one object", offset: start)
      }
      skipSpace()
      guard take(":") else { throw error("a colon is missing") }
      members.append(JSONMember(name: name, value: try value(depth: depth)))
      skipSpace()
      if take("}") { return .object(members) }
      guard take(",") else { throw error("a comma or } is missing") }
    }
  }

  private mutating func number() throws(JSONError) -> String {
    let start = place
    _ = take("-")
    if !take("0") { try digits() }
    if take(".") { try digits() }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      try digits()
    }
    return String(decoding: bytes[start..<place], as: UTF8.self)
  }

  private mutating func digits() throws(JSONError) {
    let start = place
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { place += 1 }
    guard place > start else { throw error("a number lacks digits") }
  }
}

// Strings.

extension JSONReader {
  private mutating func string() throws(JSONError) -> String {
    place += 1
    let start = place
    var plain: [UInt8] = []
    // The text after the last escape is added at the next escape or at the end.
    var rest = start
    while true {
      guard let byte = next else { throw error("a string is not closed") }
      switch byte {
      case UInt8(ascii: "\""):
        let bytes = rest == start ? bytes[start..<place] : plain[...] + bytes[rest..<place]
        guard let text = String(validating: bytes, as: UTF8.self) else {
          throw JSONError(reason: "a string is not UTF-8", offset: start)
        }
        place += 1
        return text
      case UInt8(ascii: "\\"):
        plain += bytes[rest..<place]
        place += 1
        plain += try escape()
        rest = place
      case 0..<0x20: throw error("a string contains a control character, which must be escaped")
      default: place += 1
      }
    }
  }

  private mutating func escape() throws(JSONError) -> [UInt8] {
    guard let byte = next else { throw error("a string is not closed") }
    place += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"): return Array(String(Character(try escapedScalar())).utf8)
    default:
      place -= 1
      throw error("unknown escape sequence")
    }
  }

  private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
    let first = try unit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, take("\\"), take("u"), case let second = try unit(), (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw error("a string contains an unpaired surrogate") }
    return scalar
  }

  private mutating func unit() throws(JSONError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = next.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
        throw error("\\u needs four hexadecimal digits")
      }
      value = value << 4 + UInt32(digit)
      place += 1
    }
    return value
  }
}

/// The names of one object. A few names are compared one by one. For more there is a set, so that an object with a
/// million members does not take a million steps for each of them.
private struct JSONNames {
  private static let few = 8
  // Compares bytes, as JSON does.
  private var names: Set<[UInt8]> = []

  /// Returns false if the name exists already.
  mutating func insert(_ name: String, after members: [JSONMember]) -> Bool {
    guard members.count >= Self.few else {
      return !members.contains { $0.name.utf8.elementsEqual(name.utf8) }
    }
    if names.isEmpty { names = Set(members.map { Array($0.name.utf8) }) }
    return names.insert(Array(name.utf8)).inserted
  }
}

/// Why a text is not JSON, and where.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  package let reason: String
  /// The number of bytes before the error.
  package let offset: Int

  package var description: String { "\(reason), at byte \(offset + 1)" }
}
