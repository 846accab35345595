/// The beginning of a results line, which later runs read.
struct ResultLine: Hashable, Sendable {
  let key: RowKey
  let outcome: CallOutcome
  let error: String?

  /// The beginning of every line.
  static let start = "{\"key\":\""

  /// Writes it as the beginning of a line.
  func add(to line: inout JSONLine) {
    line.add("key", "\(key)")
    line.add("outcome", outcome.rawValue)
    line.add("error", error)
  }

  /// Parses a line without its line feed. Nil if it is truncated or not a result. Only the beginning is parsed; the
  /// rest must not contain control characters, because a power cut may leave zeros in place of the last data written.
  init?(_ line: ArraySlice<UInt8>) {
    guard line.last == UInt8(ascii: "}"), line.allSatisfy({ $0 >= 0x20 }) else { return nil }
    var rest = line
    guard let key = Self.take(Self.start, from: &rest).flatMap({ RowKey($0) }),
      let outcome = Self.take(",\"outcome\":\"", from: &rest).flatMap({ CallOutcome(rawValue: $0) }),
      rest.starts(with: ",\"error\":".utf8)
    else { return nil }
    (self.key, self.outcome, error) = (key, outcome, Self.take(",\"error\":\"", from: &rest))
  }

  /// Whether bytes may be the beginning of a line that was not written completely. Includes zeros, which a power cut
  /// may leave in place of the data written.
  static func mayBegin(_ bytes: some Collection<UInt8>) -> Bool {
    if bytes.allSatisfy({ $0 == 0 }) { return true }
    let key = String(repeating: "0", count: 32)
    return zip(bytes, "\(start)\(key)\",\"outcome\":\"".utf8.enumerated()).allSatisfy { byte, pattern in
      let isInKey = pattern.offset >= start.utf8.count && pattern.offset < start.utf8.count + 32
      return isInKey ? Character(Unicode.Scalar(byte)).isHexDigit : byte == pattern.element
    }
  }

  init(key: RowKey, outcome: CallOutcome, error: String?) {
    (self.key, self.outcome, self.error) = (key, outcome, error)
  }

  /// The text after a given prefix, up to the next quotation mark.
  private static func take(_ text: String, from line: inout ArraySlice<UInt8>) -> String? {
    guard line.starts(with: text.utf8) else { return nil }
    let rest = line.dropFirst(text.utf8.count)
    guard let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
    line = rest[(end + 1)...]
    return String(decoding: rest[..<end], as: UTF8.self)
  }
}
