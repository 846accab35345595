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

  private var block: [UInt8] = []
  private(set) var isDone = false
  private(set) var isHTTP2 = false
  /// The lines after the body.
  private(set) var trailers: [UInt8] = []

  /// Whether something of a head has come, or all of it.
  var hasBegun: Bool { isDone || !block.isEmpty }

  mutating func append(_ line: UnsafeBufferPointer<UInt8>, atMost cap: Int) -> Line {
    if isDone {
      trailers.append(contentsOf: line)
      return trailers.count <= cap ? .inside : .tooLong
    }
    if block.isEmpty { block.reserveCapacity(512) }
    block.append(contentsOf: line)
    guard block.count <= cap else { return .tooLong }
    // An empty line ends the head.
    guard line.count <= 2, line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") else { return .inside }
    let status = Self.status(of: block)
    if (100...199).contains(status), status != 101 {
      // Another head follows an informational one.
      block.removeAll(keepingCapacity: true)
      return .inside
    }
    isDone = true
    // "HTTP/2 200".
    isHTTP2 = block.count > 5 && block[5] == UInt8(ascii: "2")
    defer { block = [] }
    return .last(status: status, block: block)
  }

  /// The three digits after the first spaces of the status line; 0 when there are none.
  private static func status(of block: [UInt8]) -> Int {
    let digits = block.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }.prefix(3)
    let isNumber = digits.count == 3 && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return isNumber ? digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } : 0
  }
}
