import CHeadgate
import HeadgateThreads

/// A line's text, put together as bytes on the stack, so that it takes one piece of memory in the end: a source of the log
/// that is on writes several lines for each request.
struct LineText: ~Copyable {
  private static let capacity = 512

  // Points into the memory that `make` lends for as long as its closure runs, which nobody can take the text out of.
  private let buffer: UnsafeMutableBufferPointer<UInt8>
  private var count = 0
  // All that comes from the first piece on that has no room any more.
  private var rest: [UInt8] = []

  /// The text that `write` makes.
  @inline(__always)
  static func make(_ write: (inout LineText) -> Void) -> String {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { buffer in
      var text = LineText(buffer)
      write(&text)
      return text.string
    }
  }

  private init(_ buffer: UnsafeMutableBufferPointer<UInt8>) { self.buffer = buffer }

  private var string: String {
    let start = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[..<count])
    return rest.isEmpty ? String(decoding: start, as: UTF8.self) : String(decoding: Array(start) + rest, as: UTF8.self)
  }

  /// Adds words that stand in the program.
  @inline(__always)
  mutating func add(words: StaticString) {
    words.withUTF8Buffer { add($0) }
  }

  /// Adds a text as it is.
  mutating func add(_ text: String) {
    if text.utf8.withContiguousStorageIfAvailable({ add($0) }) == nil { for byte in text.utf8 { add(byte: byte) } }
  }

  /// Adds a URL without its query.
  mutating func add(url: String) {
    let mark = UInt8(ascii: "?")
    let isDone: Void? = url.utf8.withContiguousStorageIfAvailable { bytes in
      let length = bytes.baseAddress.map { headgate_find(mark, $0, bytes.count) } ?? 0
      add(UnsafeBufferPointer(start: bytes.baseAddress, count: length))
    }
    if isDone == nil { for byte in url.utf8.prefix(while: { $0 != mark }) { add(byte: byte) } }
  }

  /// Adds a number in decimal digits.
  mutating func add(_ number: Int) {
    if number < 0 { add(byte: UInt8(ascii: "-")) }
    var (left, unit) = (number.magnitude, 1 as UInt)
    while left / unit > 9 { unit *= 10 }
    while unit > 0 {
      add(byte: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: left / unit))
      left %= unit
      unit /= 10
    }
  }

  @inline(__always)
  private mutating func add(byte: UInt8) {
    guard rest.isEmpty, count < buffer.count else { return rest.append(byte) }
    buffer.initializeElement(at: count, to: byte)
    count += 1
  }

  @inline(__always)
  private mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard rest.isEmpty, bytes.count <= buffer.count - count else { return rest.append(contentsOf: bytes) }
    guard let from = bytes.baseAddress, let start = buffer.baseAddress else { return }
    (start + count).initialize(from: from, count: bytes.count)
    count += bytes.count
  }
}

extension LineText {
  /// Adds what ``EndPoint/description`` says.
  mutating func add(_ endPoint: EndPoint) {
    guard !endPoint.isUnixSocket, !endPoint.isIPv6 else { return add(endPoint.description) }
    add(endPoint.host)
    add(words: ":")
    add(endPoint.port)
  }

  /// Adds a time for people, as `Duration.words`.
  mutating func add(_ time: Duration) { add(milliseconds: time.wholeNanoseconds / 1_000_000) }

  /// Adds a time for people: milliseconds below a second, else seconds.
  mutating func add(milliseconds count: Int64) {
    let milliseconds = Int(clamping: count)
    guard milliseconds >= 1000 else {
      add(milliseconds)
      return add(words: " ms")
    }
    add(milliseconds / 1000)
    add(words: ".")
    add(milliseconds / 100 % 10)
    add(words: " s")
  }
}
