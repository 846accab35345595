import HeadgateDispatch
import HeadgateReport

/// The identity of a row in all runs of a session: its content, and the number of equal rows before it. It does not
/// depend on the line number, so the list may be reordered, shortened and extended between runs.
struct RowKey: Hashable, Sendable, CustomStringConvertible {
  private let high: UInt64
  private let low: UInt64

  /// - Parameters:
  ///   - run: The session's random word, so that equal rows of different sessions differ.
  ///   - content: The row in canonical form.
  ///   - occurrence: The number of equal rows before it.
  init(run: String, content: RowContent, occurrence: Int) {
    (high, low) = SHA256.half(of: "\(run) \(occurrence) ".utf8 + content.digest)
  }

  /// Parses a `description`: 32 lower-case hexadecimal digits.
  init?(_ text: some StringProtocol) {
    let bytes = Array(text.utf8)
    let isHex = bytes.allSatisfy {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
    }
    guard bytes.count == 32, isHex, let high = UInt64(String(decoding: bytes[..<16], as: UTF8.self), radix: 16),
      let low = UInt64(String(decoding: bytes[16...], as: UTF8.self), radix: 16)
    else { return nil }
    (self.high, self.low) = (high, low)
  }

  var description: String { Self.digits(high) + Self.digits(low) }

  /// The row's automatic idempotency key. It has the form of a random UUID (RFC 9562, version 4), because some servers
  /// accept no other. Without the session's word it can't be guessed.
  var idempotencyKey: String {
    let first = Self.digits(high & ~0xF000 | 0x4000)
    let last = Self.digits(low & ~(3 << 62) | 2 << 62)
    let ends = [first.prefix(8), first.dropFirst(8).prefix(4), first.suffix(4), last.prefix(4), last.suffix(12)]
    return ends.joined(separator: "-")
  }

  private static func digits(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}

/// The content of a row in canonical form, before the number of equal rows is known.
struct RowContent: Hashable, Sendable {
  let digest: [UInt8]

  /// Creates the content of a row that was parsed.
  init(_ value: JSONValue) { digest = SHA256.sum(value.canonicalText.utf8) }

  /// Creates the content of a row that could not be parsed, from its bytes.
  init(unreadable bytes: [UInt8]) { digest = SHA256.sum("unreadable ".utf8 + bytes) }
}
