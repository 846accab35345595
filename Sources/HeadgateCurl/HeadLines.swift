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
  }

  private(set) var isDone = false
  private(set) var isHTTP2 = false
  /// Whether something of a head has come, or all of it.
  private(set) var hasBegun = false
  /// The lines after the body.
  private(set) var trailers: [UInt8] = []

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
    guard buffer.count + line.count <= cap else { return .tooLong }
    buffer.append(line)
    // An empty line ends the head.
    guard line.count <= 2, line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") else { return .inside }
    return last(in: &buffer)
  }

  /// The head is whole: what is in the buffer.
  private mutating func last(in buffer: inout HeadBuffer) -> Line {
    let block = Array(buffer.bytes)
    buffer.removeAll()
    let status = Self.status(of: block)
    // Another head follows an informational one.
    hasBegun = !(100...199).contains(status) || status == 101
    guard hasBegun else { return .inside }
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
