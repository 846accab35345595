/// The head of a response, gathered from its lines as libcurl brings them, one call a line.
struct HeadLines {
  /// What a line was.
  enum Line {
    /// One of the head, or of the trailers.
    case inside
    /// The empty line that ends the head: its status and all its lines.
    case last(status: Int, block: [UInt8])
    /// With it the head is longer than it may be.
    case tooLong
    /// It is no line that a head may have: why.
    case malformed(String)
  }

  private(set) var isDone = false
  private(set) var isHTTP2 = false
  /// Whether something of a head has come, or all of it.
  private(set) var hasBegun = false
  /// What the head says of the body's length.
  private(set) var framing = BodyFraming()
  /// The lines after the body.
  private(set) var trailers: [UInt8] = []
  // The bytes of all lines, those of interim answers and of blank ones included: a head that never ends is too long.
  private var taken = 0
  // The line before this one is a field that says where the body ends.
  private var isFramingField = false

  /// Takes a line.
  ///
  /// - Parameters:
  ///   - cap: The most bytes that a head may have, and trailers too.
  ///   - buffer: Where the lines before this one are.
  mutating func append(_ line: UnsafeRawBufferPointer, atMost cap: Int, in buffer: inout HeadBuffer) -> Line {
    if isDone {
      trailers.append(contentsOf: line)
      return trailers.count <= cap ? .inside : .tooLong
    }
    hasBegun = true
    taken += line.count
    guard taken <= cap else { return .tooLong }
    if line.first == UInt8(ascii: " ") || line.first == UInt8(ascii: "\t") { return fold(line, in: &buffer) }
    buffer.append(line)
    // An empty line ends the head.
    if line.count <= 2, line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") {
      return last(in: &buffer)
    }
    switch framing.take(line) {
    case .other: isFramingField = false
    case .taken: isFramingField = true
    case .malformed(let why): return .malformed(why)
    }
    return .inside
  }

  /// A line that goes on with the field before it: RFC 9112 section 5.2.
  private mutating func fold(_ line: UnsafeRawBufferPointer, in buffer: inout HeadBuffer) -> Line {
    // libcurl reads such a field by its first line only.
    guard !isFramingField else { return .malformed("the body's length is spread over two lines") }
    // Section 2.2 leaves the choice to refuse such a head, as libcurl 7.88 does.
    guard buffer.lines > 1 else { return .malformed("the head's first field begins with a space") }
    buffer.fold(line)
    return .inside
  }

  /// The head is whole: what is in the buffer.
  private mutating func last(in buffer: inout HeadBuffer) -> Line {
    let block = Array(buffer.bytes)
    buffer.removeAll()
    let status = Self.status(of: block)
    // Another head follows an informational one.
    hasBegun = !(100...199).contains(status) || status == 101
    guard hasBegun else {
      framing = BodyFraming()
      return .inside
    }
    isDone = true
    // "HTTP/2 200".
    isHTTP2 = block.count > 5 && block[5] == UInt8(ascii: "2")
    return .last(status: status, block: block)
  }

  /// The three digits after the first spaces of the status line; 0 when there are none.
  private static func status(of block: [UInt8]) -> Int {
    let digits = block.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }.prefix(3)
    let isNumber = digits.count == 3 && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return isNumber ? digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } : 0
  }
}
