/// Collects the head of a response from its lines, which libcurl delivers one at a time. Belongs to a handle and is
/// reused for its next responses.
struct HeadLines: ~Copyable {
  /// The result of a line.
  enum Line {
    /// A line of the head or of the trailers.
    case inside
    /// The empty line at the end of the head, with the status and all lines.
    case last(status: Int, block: [UInt8])
    /// The head exceeds the size limit.
    case tooLong
    /// An invalid line, with the reason.
    case malformed(String)
  }

  private(set) var isDone = false
  private(set) var isHTTP2 = false
  /// What the head says about the body's length.
  private(set) var framing = BodyFraming()
  /// The lines after the body.
  private(set) var trailers: [UInt8] = []
  /// The size limit in bytes, for the head and for the trailers.
  let cap: Int
  // The head so far. Keeps its capacity, so that heads don't allocate.
  private var lines: [UInt8] = []
  // The number of lines, with folded ones counted as one.
  private var count = 0
  /// The bytes of all lines, including interim responses and blank lines, so that an endless head reaches the limit.
  private(set) var taken = 0
  // The previous line is a field that determines where the body ends.
  private var isFramingField = false
  // Part of the next line was previewed.
  private var isPreviewed = false

  init(atMost cap: Int) { self.cap = cap }

  /// Whether only the end of the connection marks the end of the body.
  var endsWithConnection: Bool { framing.endsWithConnection && !isHTTP2 }

  /// Resets for another response.
  mutating func removeAll() {
    (isDone, isHTTP2, isFramingField, isPreviewed, taken) = (false, false, false, false, 0)
    framing = BodyFraming()
    trailers = []
    removeLines()
  }

  // RFC 9112 section 2.2 permits rejecting such a head.
  private static let foldedFirst = Line.malformed("the head's first field begins with a space")

  /// Checks a line before libcurl stores it, as far as possible.
  ///
  /// - Parameter piece: Its bytes; of a long line the next 16 KB.
  mutating func preview(_ piece: UnsafeRawBufferPointer) -> Line {
    defer { isPreviewed = true }
    return !isPreviewed && Self.goesOn(piece) && count < 2 ? Self.foldedFirst : .inside
  }

  /// Adds a line.
  mutating func append(_ line: UnsafeRawBufferPointer) -> Line {
    isPreviewed = false
    if isDone {
      trailers.append(contentsOf: line)
      return trailers.count <= cap ? .inside : .tooLong
    }
    taken += line.count
    guard taken <= cap else { return .tooLong }
    if Self.goesOn(line) { return fold(line) }
    lines.append(contentsOf: line)
    count += 1
    // An empty line ends the head.
    if line.count <= 2, line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") { return last() }
    switch framing.take(line) {
    case .other: isFramingField = false
    case .taken: isFramingField = true
    case .malformed(let why): return .malformed(why)
    }
    return .inside
  }

  /// Whether a line continues the previous field: RFC 9112 section 5.2.
  private static func goesOn(_ line: UnsafeRawBufferPointer) -> Bool {
    line.first == UInt8(ascii: " ") || line.first == UInt8(ascii: "\t")
  }

  private mutating func fold(_ line: UnsafeRawBufferPointer) -> Line {
    // libcurl evaluates only the first line of such a field.
    guard !isFramingField else { return .malformed("the field with the body's length is folded") }
    guard count > 1 else { return Self.foldedFirst }
    // Folded lines are joined by one space.
    while let last = lines.last, last <= UInt8(ascii: " ") { lines.removeLast() }
    let rest = line.drop { $0 <= UInt8(ascii: " ") }
    // A line of spaces only leaves the field unchanged, with a line end.
    lines.append(contentsOf: (rest.isEmpty ? "\r\n" : " ").utf8)
    lines.append(contentsOf: rest)
    return .inside
  }

  private mutating func removeLines() {
    lines.removeAll(keepingCapacity: true)
    count = 0
  }

  /// The head is complete.
  private mutating func last() -> Line {
    let block = lines.withUnsafeBytes { Array($0) }
    removeLines()
    let status = Self.status(of: block)
    // An informational response is followed by another head.
    guard !(100...199).contains(status) || status == 101 else {
      framing = BodyFraming()
      return .inside
    }
    isDone = true
    // "HTTP/2 200".
    isHTTP2 = block.count > 5 && block[5] == UInt8(ascii: "2")
    return .last(status: status, block: block)
  }

  /// The three digits after the first spaces of the status line; 0 if there are none.
  private static func status(of block: [UInt8]) -> Int {
    let digits = block.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }.prefix(3)
    let isNumber = digits.count == 3 && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return isNumber ? digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } : 0
  }
}
