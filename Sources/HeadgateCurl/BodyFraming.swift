// Where a body ends: RFC 9112 section 6.3. libcurl takes the last of several lengths, and the leading digits of an
// invalid number. Two readers would see different messages in such a response, so it is rejected.

/// What the fields of a head say about the body's length.
struct BodyFraming {
  /// The meaning of a line.
  enum Line {
    /// Not about the body's length.
    case other
    case taken
    /// Invalid, with the reason.
    case malformed(String)
  }

  /// The declared length in bytes; nil if there is none.
  private(set) var length: Int64?
  /// Whether the body is chunked, so that the last chunk marks its end.
  private(set) var isChunked = false

  /// Whether only the end of the connection marks the end of the body.
  var endsWithConnection: Bool { length == nil && !isChunked }

  /// Processes a line of the head.
  mutating func take(_ line: UnsafeRawBufferPointer) -> Line {
    // The position of the colon rules out most lines.
    if Self.has(line, "content-length:") { return takeLength(line.dropFirst(15)) }
    guard Self.has(line, "transfer-encoding:") else { return .other }
    return takeCoding(line.dropFirst(18))
  }

  // libcurl decodes every coding that it supports, requested or not, and treats a truncated body as complete.
  private mutating func takeCoding(_ value: Slice<UnsafeRawBufferPointer>) -> Line {
    let coding = value.trimmingSpace().lowercased()
    guard coding == "chunked", !isChunked else {
      return .malformed("the transfer coding \"\(coding)\" was not requested")
    }
    isChunked = true
    return length == nil ? .taken : Self.both
  }

  // Section 6.1: such a message ought to be handled as an error.
  private static let both = Line.malformed("a body length is given for a chunked body")

  // RFC 9110 section 8.6 allows a list of equal lengths, since a proxy may have joined two fields.
  private mutating func takeLength(_ value: Slice<UnsafeRawBufferPointer>) -> Line {
    for part in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      let text = part.trimmingSpace()
      guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
        let number = Int64(text)
      else { return .malformed("\"\(text)\" is not a valid body length") }
      guard length == nil || length == number else {
        return .malformed("two different body lengths: \(length ?? 0) and \(number)")
      }
      length = number
    }
    return isChunked ? Self.both : .taken
  }

  /// Whether a line begins with a name, ignoring case. The name is given in lower case.
  private static func has(_ line: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
    let count = name.utf8CodeUnitCount
    guard line.count >= count, line[count - 1] == UInt8(ascii: ":") else { return false }
    for place in 0..<count - 1 where line[place] | 0x20 != name.utf8Start[place] | 0x20 { return false }
    return true
  }
}

extension Slice<UnsafeRawBufferPointer> {
  fileprivate func trimmingSpace() -> String {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
    guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else {
      return ""
    }
    return String(decoding: self[first...last], as: UTF8.self)
  }
}
