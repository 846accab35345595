import HeadgateDispatch

/// Reads the head of a response and its trailers as libcurl delivers them, each byte once. Belongs to a handle and is
/// reused for its next responses.
struct HeadLines: ~Copyable {
  /// The result of a line, or of a part of a long one.
  enum Line {
    /// A line of the head or of the trailers.
    case inside
    /// The empty line at the end of the head.
    case last
    /// The head exceeds the size limit.
    case tooLong
    /// An invalid line, with the reason.
    case malformed(String)
  }

  /// How the body is encoded, according to the head.
  enum Coding { case none, gzip, other }

  private(set) var isDone = false
  private(set) var isHTTP2 = false
  private(set) var status = 0
  /// What the head says about the body's length.
  private(set) var framing = BodyFraming()
  private(set) var coding = Coding.none
  /// Whether the server will close the connection.
  private(set) var closes = false
  /// Whether a field may report what is left of a quota.
  private(set) var tellsQuotas = false
  /// The lines after the body.
  private(set) var trailers: [UInt8] = []
  /// The size limit in bytes, for the head and for the trailers.
  let cap: Int
  // The head so far. Keeps its capacity, so that its growth doesn't allocate for each head.
  private var block: [UInt8] = []
  // Where the line begins that is being read.
  private var start = 0
  // The number of lines, with folded ones counted as one.
  private var count = 0
  /// The bytes of all lines, including interim responses and blank lines, so that an endless head reaches the limit.
  private(set) var taken = 0
  /// The number of all these lines.
  private(set) var allLines = 0
  // The previous line is a field that determines where the body ends.
  private var isFramingField = false
  // The header callback gets the line that the write callback has just got.
  private var isKnown = false

  init(atMost cap: Int) { self.cap = cap }

  /// Whether only the end of the connection marks the end of the body.
  var endsWithConnection: Bool { framing.endsWithConnection && !isHTTP2 }

  /// A copy of the head, without spare capacity.
  var copy: [UInt8] { block.withUnsafeBytes { Array($0) } }

  /// Resets for another response.
  mutating func removeAll() {
    removeHead()
    (isDone, isKnown, taken, allLines) = (false, false, 0, 0)
    if !trailers.isEmpty { trailers = [] }
  }

  private mutating func removeHead() {
    block.removeAll(keepingCapacity: true)
    (start, count, isFramingField, isHTTP2, closes, tellsQuotas) = (0, 0, false, false, false, false)
    (framing, coding) = (BodyFraming(), .none)
  }

  /// Reads a line from the write callback, before libcurl stores it. The header callback gets it next.
  mutating func takeFirst(_ piece: UnsafeRawBufferPointer) -> Line {
    isKnown = true
    return take(piece)
  }

  /// Reads a line from the header callback.
  mutating func takeUnlessKnown(_ piece: UnsafeRawBufferPointer) -> Line {
    guard isKnown else { return take(piece) }
    isKnown = false
    return .inside
  }

  private mutating func take(_ piece: UnsafeRawBufferPointer) -> Line {
    if isDone {
      trailers.append(contentsOf: piece)
      return trailers.count <= cap ? .inside : .tooLong
    }
    taken += piece.count
    guard taken <= cap else { return .tooLong }
    // RFC 9112 section 2.2 permits rejecting such a head. Before the whole line is here: see CurlVersion.
    if count == 1, start == block.count, Self.isSpace(piece.first) {
      return .malformed("the head's first field begins with a space")
    }
    block.append(contentsOf: piece)
    // Only the write callback gets lines in parts.
    return piece.last == UInt8(ascii: "\n") ? endLine() : .inside
  }

  private static func isSpace(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

  private mutating func endLine() -> Line {
    allLines += 1
    let first = block[start]
    // An empty line ends the head.
    if block.count - start <= 2, first == UInt8(ascii: "\r") || first == UInt8(ascii: "\n") { return endHead() }
    if count == 0 { return readStatus() }
    if Self.isSpace(first) { return fold() }
    let line = start
    (start, count) = (block.count, count + 1)
    return block.withUnsafeBytes { readField(UnsafeRawBufferPointer(rebasing: $0[line...])) }
  }

  /// Reads the status line, as strictly as the strictest libcurl: "HTTP/1.1 200", "HTTP/2 200". (RFC 9112 section 4)
  private mutating func readStatus() -> Line {
    (start, count) = (block.count, 1)
    let digits: Int
    if block.starts(with: "HTTP/1.1 ".utf8) || block.starts(with: "HTTP/1.0 ".utf8) {
      digits = 9
    } else if block.starts(with: "HTTP/2 ".utf8) || block.starts(with: "HTTP/3 ".utf8) {
      (digits, isHTTP2) = (7, true)
    } else {
      return .malformed("the response does not begin with a status line")
    }
    guard block.count > digits + 3, block[digits + 3] <= UInt8(ascii: " "),
      let number = Self.number(block[digits..<digits + 3])
    else { return .malformed("the status line has no status of three digits") }
    status = number
    return .inside
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    digits.reduce(0) { number, digit in
      guard let number, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      return number * 10 + Int(digit - UInt8(ascii: "0"))
    }
  }

  /// Reads a field. Its first letter rules out most.
  private mutating func readField(_ line: UnsafeRawBufferPointer) -> Line {
    isFramingField = false
    switch line[0] | 0x20 {
    case UInt8(ascii: "c"):
      if let value = line.value(of: "content-length:") { return readFraming { $0.takeLength(value) } }
      if let value = line.value(of: "content-encoding:") { readCoding(value) }
      if let value = line.value(of: "connection:"), value.contains("close") { closes = true }
    case UInt8(ascii: "t"):
      if let value = line.value(of: "transfer-encoding:") { return readFraming { $0.takeCoding(value) } }
    case UInt8(ascii: "a"), UInt8(ascii: "r"), UInt8(ascii: "x"):
      tellsQuotas = tellsQuotas || HeaderBlock.mayTellQuotas(line: line)
    default: break
    }
    return .inside
  }

  private mutating func readFraming(_ read: (inout BodyFraming) -> String?) -> Line {
    isFramingField = true
    return read(&framing).map { .malformed($0) } ?? .inside
  }

  // Several codings are not undone, even if gzip is one of them.
  private mutating func readCoding(_ value: Slice<UnsafeRawBufferPointer>) {
    switch value.text.lowercased() {
    // libcurl accepts "none" too.
    case "", "identity", "none": break
    case "gzip", "x-gzip": coding = coding == .none ? .gzip : .other
    default: coding = .other
    }
  }

  /// Joins a folded line to its field with one space: RFC 9112 section 5.2. libcurl 8.18 and later do so themselves.
  private mutating func fold() -> Line {
    // Earlier versions evaluate only the first line of such a field.
    guard !isFramingField else { return .malformed("the field with the body's length is folded") }
    let rest = block[start...].drop { $0 <= UInt8(ascii: " ") }
    block.removeSubrange(start...)
    while let last = block.last, last <= UInt8(ascii: " ") { block.removeLast() }
    // A line of spaces only leaves the field unchanged, with a line end.
    block.append(contentsOf: (rest.isEmpty ? "\r\n" : " ").utf8)
    block.append(contentsOf: rest)
    start = block.count
    return .inside
  }

  private mutating func endHead() -> Line {
    // An informational response is followed by another head.
    guard !(100...199).contains(status) || status == 101 else {
      removeHead()
      return .inside
    }
    isDone = true
    return .last
  }
}

extension UnsafeRawBufferPointer {
  /// What follows a name at the start of a line, ignoring case. The name is given in lower case, with its colon.
  fileprivate func value(of name: StaticString) -> Slice<UnsafeRawBufferPointer>? {
    let length = name.utf8CodeUnitCount
    // The position of the colon rules out most lines.
    guard count >= length, self[length - 1] == UInt8(ascii: ":") else { return nil }
    for place in 0..<length - 1 where self[place] | 0x20 != name.utf8Start[place] | 0x20 { return nil }
    return dropFirst(length)
  }
}

extension Slice<UnsafeRawBufferPointer> {
  /// The bytes without spaces at both ends.
  var trimmed: Self {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
    guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else {
      return self[endIndex...]
    }
    return self[first...last]
  }

  /// Whether a word is in it, ignoring case. The word is given in lower case.
  func contains(_ word: StaticString) -> Bool {
    let length = word.utf8CodeUnitCount
    guard count >= length else { return false }
    return (startIndex...endIndex - length).contains { start in
      (0..<length).allSatisfy { self[start + $0] | 0x20 == word.utf8Start[$0] }
    }
  }

  /// The same as text.
  var text: String { String(decoding: trimmed, as: UTF8.self) }
}
