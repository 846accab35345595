// Where a body ends: RFC 9112 section 6.3. libcurl takes the last of several lengths, and the leading digits of one that is
// not a number. With such a head two readers see two different messages, so it is refused.

/// What the fields of a head say of the body's length.
struct BodyFraming {
  /// What a line says.
  enum Line {
    /// Nothing of the length.
    case other
    case taken
    /// Something that can't be: why.
    case malformed(String)
  }

  /// The declared length in bytes; nil when there is none.
  private(set) var length: Int64?
  /// Whether the body comes in chunks, the last of which shows its end.
  private(set) var isChunked = false

  /// Whether nothing but the connection's end shows that of the body.
  var endsWithConnection: Bool { length == nil && !isChunked }

  /// Looks at a line of the head.
  mutating func take(_ line: UnsafeRawBufferPointer) -> Line {
    // For most lines the place of the colon decides.
    if Self.has(line, "content-length:") { return takeLength(line.dropFirst(15)) }
    guard Self.has(line, "transfer-encoding:") else { return .other }
    return takeCoding(line.dropFirst(18))
  }

  // libcurl decodes any coding that it knows, asked for or not, and takes it to be complete wherever it ends.
  private mutating func takeCoding(_ value: Slice<UnsafeRawBufferPointer>) -> Line {
    let coding = String(decoding: value, as: UTF8.self).trimmingSpace().lowercased()
    guard coding == "chunked", !isChunked else {
      return .malformed("the transfer coding \"\(coding)\" was not asked for")
    }
    isChunked = true
    return length == nil ? .taken : Self.both
  }

  // Section 6.1: such a message ought to be handled as an error.
  private static let both = Line.malformed("a body length is given beside chunks")

  // RFC 9110 section 8.6 lets a list of the same length pass: a proxy may have joined two fields.
  private mutating func takeLength(_ value: Slice<UnsafeRawBufferPointer>) -> Line {
    for part in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      let text = String(decoding: part, as: UTF8.self).trimmingSpace()
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

  /// Whether a line begins with a name in small letters, however the line writes it.
  private static func has(_ line: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
    let count = name.utf8CodeUnitCount
    guard line.count >= count, line[count - 1] == UInt8(ascii: ":") else { return false }
    for place in 0..<count - 1 where line[place] | 0x20 != name.utf8Start[place] | 0x20 { return false }
    return true
  }
}

extension String {
  fileprivate func trimmingSpace() -> String {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
    let end = utf8.reversed().drop(while: isSpace).count
    return String(decoding: utf8.prefix(end).drop(while: isSpace), as: UTF8.self)
  }
}
