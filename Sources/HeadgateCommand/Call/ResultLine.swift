/// The beginning of a line of results, as far as a later run reads it.
struct ResultLine: Hashable, Sendable {
  let key: RowKey
  let outcome: CallOutcome
  let error: String?

  /// What every line begins with.
  static let start = "{\"key\":\""

  /// Writes it as the beginning of a line.
  func add(to line: inout JSONLine) {
    line.add("key", "\(key)")
    line.add("outcome", outcome.rawValue)
    line.add("error", error)
  }

  /// Reads a line without its line feed; nil for one that is torn, or that is no result. Only the beginning is looked
  /// at, and that no control character is in the rest: a power cut may leave zeros in the place of what was written
  /// last.
  init?(_ line: ArraySlice<UInt8>) {
    guard line.last == UInt8(ascii: "}"), line.allSatisfy({ $0 >= 0x20 }) else { return nil }
    var rest = line
    guard let key = Self.take(Self.start, from: &rest).flatMap({ RowKey($0) }),
      let outcome = Self.take(",\"outcome\":\"", from: &rest).flatMap({ CallOutcome(rawValue: $0) }),
      rest.starts(with: ",\"error\":".utf8)
    else { return nil }
    (self.key, self.outcome, error) = (key, outcome, Self.take(",\"error\":\"", from: &rest))
  }

  /// Whether bytes may be the beginning of a line that was never written to its end. One of zeros, too: a power cut
  /// may leave them in the place of what was written.
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

  /// The word after a text, up to its quotation mark.
  private static func take(_ text: String, from line: inout ArraySlice<UInt8>) -> String? {
    guard line.starts(with: text.utf8) else { return nil }
    let rest = line.dropFirst(text.utf8.count)
    guard let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
    line = rest[(end + 1)...]
    return String(decoding: rest[..<end], as: UTF8.self)
  }
}
