// Where a body ends: RFC 9112 section 6.3. libcurl takes the last of several lengths, and the leading digits of an
// invalid number. Two readers would see different messages in such a response, so it is rejected.

/// What the fields of a head say about the body's length. Each function returns what is wrong with a field; nil if it is
/// valid.
struct BodyFraming {
  /// The declared length in bytes; nil if there is none.
  private(set) var length: Int64?
  /// Whether the body is chunked, so that the last chunk marks its end.
  private(set) var isChunked = false

  /// Whether only the end of the connection marks the end of the body.
  var endsWithConnection: Bool { length == nil && !isChunked }

  // libcurl decodes every coding that it supports, requested or not, and treats a truncated body as complete.
  mutating func takeCoding(_ value: Slice<UnsafeRawBufferPointer>) -> String? {
    let coding = value.text.lowercased()
    guard coding == "chunked", !isChunked else { return "the transfer coding \"\(coding)\" was not requested" }
    isChunked = true
    return length == nil ? nil : Self.both
  }

  // Section 6.1: such a message ought to be handled as an error.
  private static let both = "a body length is given for a chunked body"

  // RFC 9110 section 8.6 allows a list of equal lengths, since a proxy may have joined two fields.
  mutating func takeLength(_ value: Slice<UnsafeRawBufferPointer>) -> String? {
    var rest = value
    while true {
      let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
      guard let number = Self.number(rest[..<end].trimmed) else {
        return "\"\(rest[..<end].text)\" is not a valid body length"
      }
      guard length == nil || length == number else {
        return "two different body lengths: \(length ?? 0) and \(number)"
      }
      length = number
      guard end < rest.endIndex else { return isChunked ? Self.both : nil }
      rest = rest[(end + 1)...]
    }
  }

  /// Nil for anything but digits, and beyond the range.
  private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int64? {
    guard !digits.isEmpty else { return nil }
    var number: Int64 = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, hasOverflown) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
      guard !isTooLarge, !hasOverflown else { return nil }
      number = sum
    }
    return number
  }
}
