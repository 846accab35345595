#if Redis
/// Parses replies from bytes as they arrive, in any portions. It trusts no length that it reads: hiredis did, which
/// became CVE-2021-32765.
struct RESPParser {
  /// What a reply may contain.
  struct Bounds {
    var line = 64 * 1024
    var bulk = 8 << 20
    var elements = 1 << 20
    var depth = 8
  }

  enum Failure: Error, Hashable {
    case unknownType(UInt8)
    case badNumber
    case badLineEnd
    case tooLong
    case tooDeep
  }

  private struct OpenArray {
    var missing: Int
    var elements: [RESPValue] = []
  }

  private let bounds: Bounds
  private var bytes: [UInt8] = []
  private var position = 0
  // Where the search for the end of the line goes on, so that a long line is searched once.
  private var searched = 0
  // The length of the bulk string whose header has been read.
  private var bulk: Int?
  private var open: [OpenArray] = []
  private var elements = 0

  init(_ bounds: Bounds = Bounds()) { self.bounds = bounds }

  mutating func append(_ more: some Sequence<UInt8>) {
    if position > 0 {
      bytes.removeFirst(position)
      (searched, position) = (max(0, searched - position), 0)
    }
    bytes.append(contentsOf: more)
  }

  /// The next complete reply. Nil until more bytes have arrived. After an error the connection is unusable.
  mutating func next() throws(Failure) -> RESPValue? {
    while let value = try element() {
      guard let whole = close(value) else { continue }
      elements = 0
      return whole
    }
    return nil
  }

  /// The next value that is complete in itself. An array's header opens an array and is followed by its elements.
  private mutating func element() throws(Failure) -> RESPValue? {
    while true {
      if let length = bulk {
        guard let content = try content(length) else { return nil }
        bulk = nil
        return .bulk(content)
      }
      guard let line = try line(), let type = line.first else { return nil }
      let rest = line.dropFirst()
      switch type {
      case UInt8(ascii: "+"): return .simple(String(decoding: rest, as: UTF8.self))
      case UInt8(ascii: "-"): return .error(String(decoding: rest, as: UTF8.self))
      case UInt8(ascii: ":"): return .integer(try number(rest))
      case UInt8(ascii: "$"):
        guard let length = try length(rest, atMost: bounds.bulk) else { return .null }
        bulk = length
      case UInt8(ascii: "*"):
        guard let count = try length(rest, atMost: bounds.elements - elements) else { return .null }
        guard count > 0 else { return .array([]) }
        guard open.count < bounds.depth else { throw .tooDeep }
        elements += count
        open.append(OpenArray(missing: count))
      default: throw .unknownType(type)
      }
    }
  }

  /// Adds a value to the innermost open array. Returns the reply if it is complete now.
  private mutating func close(_ value: RESPValue) -> RESPValue? {
    var value = value
    while var array = open.popLast() {
      array.elements.append(value)
      array.missing -= 1
      if array.missing > 0 {
        open.append(array)
        return nil
      }
      value = .array(array.elements)
    }
    return value
  }

  /// The next line without its end. An empty line has no type and is refused.
  private mutating func line() throws(Failure) -> [UInt8]? {
    var place = max(searched, position)
    while place < bytes.count, bytes[place] != UInt8(ascii: "\n") { place += 1 }
    searched = place
    guard place - position <= bounds.line else { throw .tooLong }
    guard place < bytes.count else { return nil }
    guard place - position >= 2, bytes[place - 1] == UInt8(ascii: "\r") else { throw .badLineEnd }
    let line = Array(bytes[position..<place - 1])
    position = place + 1
    return line
  }

  private mutating func content(_ length: Int) throws(Failure) -> [UInt8]? {
    guard bytes.count - position >= length + 2 else { return nil }
    let end = position + length
    guard bytes[end] == UInt8(ascii: "\r"), bytes[end + 1] == UInt8(ascii: "\n") else { throw .badLineEnd }
    defer { position = end + 2 }
    return Array(bytes[position..<end])
  }

  /// A length, or nil for -1, which says that there is no value.
  private func length(_ text: ArraySlice<UInt8>, atMost most: Int) throws(Failure) -> Int? {
    let value = try number(text)
    if value == -1 { return nil }
    guard value >= 0 else { throw .badNumber }
    guard value <= Int64(most) else { throw .tooLong }
    return Int(value)
  }

  private func number(_ text: ArraySlice<UInt8>) throws(Failure) -> Int64 {
    // `Int64` accepts a plus sign, which the protocol does not have.
    guard text.first != UInt8(ascii: "+"), let value = Int64(String(decoding: text, as: UTF8.self)) else {
      throw .badNumber
    }
    return value
  }
}
#endif
