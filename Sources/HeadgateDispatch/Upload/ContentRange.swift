/// Which bytes of a whole a message carries: the value of a `Content-Range` field (RFC 9110 section 14.4).
///
///     request.headerFields[.contentRange] = ContentRange(0..<100, of: 1000)?.description    // bytes 0-99/1000
public struct ContentRange: Hashable, Sendable, CustomStringConvertible {
  /// The bytes, counted from 0; never empty.
  public let range: Range<Int64>

  /// How many bytes the whole has; nil when that is not known (`*`).
  public let total: Int64?

  /// Some bytes of a whole; nil for none, for a start below 0, and for an end beyond the total.
  ///
  /// - Parameters:
  ///   - range: The bytes, counted from 0.
  ///   - total: How many bytes the whole has; nil when that is not known.
  public init?(_ range: Range<Int64>, of total: Int64?) {
    guard !range.isEmpty, range.lowerBound >= 0, total.map({ range.upperBound <= $0 }) ?? true else { return nil }
    self.range = range
    self.total = total
  }

  /// What a field's value says; nil for another unit than bytes, for a range that can't be had (`bytes */1000`), and for
  /// whatever is no such value.
  public init?(_ value: String) {
    let words = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    let total = Self.number(parts[1])
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), last >= first,
      last < .max, total != nil || parts[1] == "*"
    else { return nil }
    self.init(first..<last + 1, of: total)
  }

  // Digits only: `Int64` would take a sign.
  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(text) : nil
  }

  /// The field's value: `bytes 0-99/1000`.
  public var description: String {
    "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total.map { "\($0)" } ?? "*")"
  }
}
