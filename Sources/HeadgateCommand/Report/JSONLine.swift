/// Builds a JSON object on one line. Members keep the order in which they are added.
struct JSONLine {
  private var text = "{"

  /// The object and a line feed.
  var line: String { text + "}\n" }

  mutating func add(_ name: String, _ value: String?) {
    begin(name)
    guard let value else { return text += "null" }
    text += JSONLine.quoted(value)
  }

  mutating func add(_ name: String, _ value: Int?) {
    begin(name)
    text += value.map(String.init) ?? "null"
  }

  /// Adds seconds, with microsecond precision.
  mutating func add(_ name: String, seconds: Double?) {
    begin(name)
    text += seconds.map { Amount.fixed($0, 6) } ?? "null"
  }

  /// Adds a value that is already JSON. Nil is written as null.
  mutating func add(_ name: String, json: String?) {
    begin(name)
    text += json ?? "null"
  }

  /// Adds an object.
  mutating func add(_ name: String, _ object: JSONLine) {
    begin(name)
    text += object.text + "}"
  }

  /// Adds an array of objects. An empty array is written as null.
  mutating func add(_ name: String, _ objects: [JSONLine]) {
    begin(name)
    text += objects.isEmpty ? "null" : "[\(objects.map { $0.text + "}" }.joined(separator: ","))]"
  }

  private mutating func begin(_ name: String) {
    if text.utf8.count > 1 { text += "," }
    text += "\"\(name)\":"
  }

  /// A JSON string (RFC 8259, section 7). Control characters, line separators and bidirectional controls are escaped,
  /// so that the log can be viewed safely in a terminal.
  static func quoted(_ value: String) -> String {
    let isPlain = value.utf8.allSatisfy {
      (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    if isPlain { return "\"\(value)\"" }
    var quoted = "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case _ where isHidden(scalar):
        for unit in scalar.utf16 {
          let hex = String(unit, radix: 16)
          quoted += "\\u" + String(repeating: "0", count: 4 - hex.utf8.count) + hex
        }
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
