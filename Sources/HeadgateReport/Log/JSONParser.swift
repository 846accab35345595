/// Reads one value of JSON from bytes. Lines of a log may have been cut or changed by anything, so that nothing in them is
/// trusted: neither their depth nor their numbers nor their UTF-8.
struct JSONParser {
  /// Deeper than any line of a log.
  private static let deepest = 16

  private let bytes: UnsafeBufferPointer<UInt8>
  private var place = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  mutating func whole() -> JSONValue? {
    guard let value = value(depth: 0) else { return nil }
    skipSpace()
    return place == bytes.count ? value : nil
  }

  private mutating func value(depth: Int) -> JSONValue? {
    skipSpace()
    guard place < bytes.count, depth < Self.deepest else { return nil }
    switch bytes[place] {
    case UInt8(ascii: "\""): return string().map { .string($0) }
    case UInt8(ascii: "{"): return object(depth: depth)
    case UInt8(ascii: "["): return array(depth: depth)
    case UInt8(ascii: "n"): return word("null") ? .null : nil
    case UInt8(ascii: "t"): return word("true") ? .bool(true) : nil
    case UInt8(ascii: "f"): return word("false") ? .bool(false) : nil
    default: return number()
    }
  }

  private mutating func object(depth: Int) -> JSONValue? {
    place += 1
    var members: [JSONValue.Member] = []
    if take("}") { return .object(members) }
    repeat {
      skipSpace()
      guard let name = string(), take(":"), let value = value(depth: depth + 1) else { return nil }
      members.append(JSONValue.Member(name: name, value: value))
    } while take(",")
    return take("}") ? .object(members) : nil
  }

  private mutating func array(depth: Int) -> JSONValue? {
    place += 1
    var values: [JSONValue] = []
    if take("]") { return .array(values) }
    repeat {
      guard let value = value(depth: depth + 1) else { return nil }
      values.append(value)
    } while take(",")
    return take("]") ? .array(values) : nil
  }

  private mutating func number() -> JSONValue? {
    let start = place
    while place < bytes.count, Self.isOfNumber(bytes[place]) { place += 1 }
    guard place > start, place - start < 64 else { return nil }
    let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<place]), as: UTF8.self)
    guard let number = Double(text), number.isFinite else { return nil }
    return .number(number)
  }

  private static func isOfNumber(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): true
    default: false
    }
  }

  private mutating func string() -> String? {
    guard place < bytes.count, bytes[place] == UInt8(ascii: "\"") else { return nil }
    place += 1
    let start = place
    // Nearly every string has nothing to be decoded in it.
    while place < bytes.count, bytes[place] != UInt8(ascii: "\""), bytes[place] != UInt8(ascii: "\\") { place += 1 }
    guard place < bytes.count else { return nil }
    var text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<place]), as: UTF8.self)
    if bytes[place] == UInt8(ascii: "\"") {
      place += 1
      return text
    }
    var units: [UInt16] = Array(text.utf16)
    while place < bytes.count {
      switch bytes[place] {
      case UInt8(ascii: "\""):
        place += 1
        text = String(decoding: units, as: UTF16.self)
        return text
      case UInt8(ascii: "\\"):
        guard let unit = escape() else { return nil }
        units.append(unit)
      default:
        let start = place
        while place < bytes.count, bytes[place] != UInt8(ascii: "\""), bytes[place] != UInt8(ascii: "\\") { place += 1 }
        units += String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<place]), as: UTF8.self).utf16
      }
    }
    return nil
  }

  private mutating func escape() -> UInt16? {
    guard place + 1 < bytes.count else { return nil }
    defer { place += 2 }
    switch bytes[place + 1] {
    case UInt8(ascii: "n"): return 10
    case UInt8(ascii: "r"): return 13
    case UInt8(ascii: "t"): return 9
    case UInt8(ascii: "b"): return 8
    case UInt8(ascii: "f"): return 12
    case UInt8(ascii: "u"):
      guard place + 5 < bytes.count else { return nil }
      let digits = UnsafeBufferPointer(rebasing: bytes[(place + 2)..<(place + 6)])
      place += 4
      return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    case let other where other == UInt8(ascii: "\"") || other == UInt8(ascii: "\\") || other == UInt8(ascii: "/"):
      return UInt16(other)
    default: return nil
    }
  }

  private mutating func word(_ word: StaticString) -> Bool {
    let isThere =
      bytes.count - place >= word.utf8CodeUnitCount
      && (0..<word.utf8CodeUnitCount).allSatisfy { bytes[place + $0] == word.utf8Start[$0] }
    if isThere { place += word.utf8CodeUnitCount }
    return isThere
  }

  private mutating func take(_ mark: Unicode.Scalar) -> Bool {
    skipSpace()
    guard place < bytes.count, bytes[place] == UInt8(ascii: mark) else { return false }
    place += 1
    return true
  }

  private mutating func skipSpace() {
    while place < bytes.count, bytes[place] == 0x20 || (0x09...0x0D).contains(bytes[place]) { place += 1 }
  }
}
