import HeadgateReport

/// The beginning of a results line, which later runs read.
struct ResultLine: Hashable, Sendable {
  let key: RowKey
  let outcome: CallOutcome
  let error: String?
  /// The number of the page, from 1, and the URL of the next one. Nil without `--next`.
  var page: Int?
  var next: String?

  /// The beginning of every line.
  static let start = "{\"key\":\""

  /// Writes it as the beginning of a line.
  func add(to line: inout JSONLine) {
    line.add("key", "\(key)")
    line.add("outcome", outcome.rawValue)
    line.add("error", error)
    guard let page else { return }
    line.add("page", page)
    line.add("next", next)
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
    if error == nil { rest = rest.dropFirst(",\"error\":null".utf8.count) }
    page = Self.takeNumber(",\"page\":", from: &rest)
    if page != nil { next = Self.take(",\"next\":\"", from: &rest) }
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

  init(key: RowKey, outcome: CallOutcome, error: String?, page: Int? = nil, next: String? = nil) {
    (self.key, self.outcome, self.error) = (key, outcome, error)
    (self.page, self.next) = (page, next)
  }

  /// The text of a JSON string whose quotation mark ends a given prefix.
  private static func take(_ text: String, from line: inout ArraySlice<UInt8>) -> String? {
    guard line.starts(with: text.utf8) else { return nil }
    let rest = line.dropFirst(text.utf8.count)
    var end = rest.startIndex
    while end < rest.endIndex, rest[end] != UInt8(ascii: "\"") { end += rest[end] == UInt8(ascii: "\\") ? 2 : 1 }
    guard end < rest.endIndex else { return nil }
    let text = rest[..<end]
    line = rest[(end + 1)...]
    guard text.contains(UInt8(ascii: "\\")) else { return String(decoding: text, as: UTF8.self) }
    guard case .string(let value)? = try? JSONReader.read([UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")]) else {
      return nil
    }
    return value
  }

  /// The number of 1 or more after a given prefix.
  private static func takeNumber(_ text: String, from line: inout ArraySlice<UInt8>) -> Int? {
    guard line.starts(with: text.utf8) else { return nil }
    let rest = line.dropFirst(text.utf8.count)
    let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard let number = Int(String(decoding: digits, as: UTF8.self)), number >= 1 else { return nil }
    line = rest[digits.endIndex...]
    return number
  }
}
