/// Writes JSON for a `<script>` element of a page: nothing in it can end that element or begin another one. It is plain
/// ASCII, apart from letters of other scripts.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  private var needsComma = false

  mutating func object(_ members: (inout JSONWriter) -> Void) { nest("{", "}", members) }

  mutating func array(_ elements: (inout JSONWriter) -> Void) { nest("[", "]", elements) }

  mutating func array<Element>(_ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void) {
    array { writer in for element in elements { write(&writer, element) } }
  }

  /// Begins a member of an object; its value follows.
  mutating func name(_ name: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes += UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    bytes += "\":".utf8
    needsComma = false
  }

  mutating func value(_ number: Int) {
    separate()
    bytes += String(number).utf8
  }

  mutating func value(_ number: Int?) { if let number { value(number) } else { null() } }

  /// With at most two decimals.
  mutating func value(hundredths number: Double) {
    guard number.isFinite, number.magnitude < 1e12 else { return value(0) }
    let hundredths = Int((number * 100).rounded())
    guard hundredths % 100 != 0 else { return value(hundredths / 100) }
    let (whole, part) = (hundredths.magnitude / 100, hundredths.magnitude % 100)
    separate()
    bytes += "\(hundredths < 0 ? "-" : "")\(whole).\(part < 10 ? "0" : "")\(part)".utf8
  }

  mutating func null() {
    separate()
    bytes += "null".utf8
  }

  mutating func value(_ text: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    for scalar in text.unicodeScalars { append(scalar) }
    bytes.append(UInt8(ascii: "\""))
  }

  // The proof that a page's parser can't be misled: `<`, `>` and `&` are never written literally.
  private mutating func append(_ scalar: Unicode.Scalar) {
    switch scalar {
    case "\"", "\\": bytes += [UInt8(ascii: "\\"), UInt8(ascii: scalar)]
    case "<", ">", "&": escape(UInt16(scalar.value))
    case " "..."~": bytes.append(UInt8(ascii: scalar))
    default:
      if Self.isHidden(scalar) { for unit in scalar.utf16 { escape(unit) } } else { bytes += String(scalar).utf8 }
    }
  }

  /// Line separators end strings in old scripts, and a direction mark makes one URL look like another.
  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: true
    default: false
    }
  }

  private mutating func escape(_ unit: UInt16) {
    let digits = String(unit, radix: 16)
    bytes += "\\u".utf8
    bytes += repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count)
    bytes += digits.utf8
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  private mutating func nest(_ open: Unicode.Scalar, _ close: Unicode.Scalar, _ body: (inout JSONWriter) -> Void) {
    separate()
    bytes.append(UInt8(ascii: open))
    needsComma = false
    body(&self)
    bytes.append(UInt8(ascii: close))
    needsComma = true
  }
}
