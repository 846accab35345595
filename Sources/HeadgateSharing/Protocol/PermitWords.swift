import HeadgateGate
import HeadgateThreads

/// A line of the permit protocol: a verb, then words of the form `name=value`, separated by spaces. In values, bytes up
/// to the space, `%`, `:` in names, and bytes above 126 are percent-encoded. docs/sharing.md describes the protocol.
struct PermitWords: Hashable, Sendable {
  /// The longest line that is read, in bytes.
  static let longestLine = 4096

  var verb: String
  /// The number of the request, for verbs that have one.
  var number: UInt64?
  var words: [(name: String, value: String)] = []

  init(_ verb: String, _ number: UInt64? = nil) { (self.verb, self.number) = (verb, number) }

  /// Parses a line without its end. Nil if it is malformed.
  init?(line: String) {
    guard line.utf8.count <= Self.longestLine else { return nil }
    var parts = line.split(separator: " ")[...]
    guard let verb = parts.popFirst() else { return nil }
    self.verb = String(verb)
    if let first = parts.first, let number = UInt64(first) {
      self.number = number
      parts.removeFirst()
    }
    for part in parts {
      guard let equals = part.firstIndex(of: "=") else { return nil }
      words.append((String(part[..<equals]), String(part[part.index(after: equals)...])))
    }
  }

  /// The line, without its end.
  var line: String {
    ([verb] + (number.map { ["\($0)"] } ?? []) + words.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
  }

  mutating func add(_ name: String, _ value: String) { words.append((name, value)) }

  func first(_ name: String) -> String? { words.first { $0.name == name }?.value }
  func all(_ name: String) -> [String] { words.lazy.filter { $0.name == name }.map(\.value) }

  static func == (left: PermitWords, right: PermitWords) -> Bool { left.line == right.line }
  func hash(into hasher: inout Hasher) { hasher.combine(line) }

  /// Percent-encodes a name.
  static func escaped(_ text: String) -> String {
    URLText.percentEncoded(text.utf8) { _, byte in
      byte > 32 && byte < 127 && byte != UInt8(ascii: "%") && byte != UInt8(ascii: ":")
    }
  }

  /// Undoes `escaped`. Nil if an escape is incomplete or the bytes are not UTF-8.
  static func unescaped(_ text: some StringProtocol) -> String? { URLText.percentDecoded(text) }
}
