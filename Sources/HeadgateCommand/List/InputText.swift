/// What comes next of an input.
enum InputPiece<Item: Sendable>: Sendable {
  case items([Item])
  /// Nothing more: its end, or the stop signal.
  case end
  /// It is no text, and compressed in a way that is not read here.
  case compressed(Compression)
  /// What follows can't be read: why, and up to where it was.
  case broken(String)
}

/// Makes items of the bytes of an input, which gzip may have packed. In memory are the bytes of one piece, and what one
/// piece of the unpacked text has.
struct InputText<Item: Sendable> {
  private var cutter: any InputCutter<Item>
  // The first byte of all gzip, which no text begins with: alone it tells nothing yet.
  private var first: [UInt8] = []
  private var isFirst = true
  private var gzip: GzipInput?
  private(set) var isAtEnd = false

  init(_ cutter: any InputCutter<Item>) { self.cutter = cutter }

  /// What is there already; nil: more bytes are needed.
  mutating func next() -> InputPiece<Item>? {
    if isAtEnd { return .end }
    guard let gzip else { return nil }
    switch gzip.next() {
    case .bytes(let bytes): return isFirst ? begin(bytes) : .items(cutter.cut(bytes))
    case .needsMore: return nil
    case .end: return finish()
    case .broken:
      return end(with: "its gzip data is damaged; \(extent)")
    case .tooShort:
      return end(with: "its gzip data ends too early; \(extent)")
    }
  }

  /// Takes bytes that were read; none: the input has ended.
  mutating func take(_ bytes: [UInt8]) -> InputPiece<Item> {
    if let gzip {
      gzip.add(bytes)
      return next() ?? .items([])
    }
    guard isFirst else { return bytes.isEmpty ? finish() : .items(cutter.cut(bytes)) }
    first += bytes
    if first == [0x1F], !bytes.isEmpty { return .items([]) }
    guard Compression(startingWith: first) == .gzip else {
      return bytes.isEmpty && first.isEmpty ? finish() : begin(first)
    }
    guard let unpacker = GzipInput() else { return end(with: "there is no memory left to unpack it") }
    gzip = unpacker
    unpacker.add(first)
    first = []
    return next() ?? .items([])
  }

  /// The first bytes of the text itself.
  private mutating func begin(_ bytes: [UInt8]) -> InputPiece<Item> {
    isFirst = false
    first = []
    guard let compression = Compression(startingWith: bytes) else { return .items(cutter.cut(bytes)) }
    isAtEnd = true
    return .compressed(compression)
  }

  private mutating func finish() -> InputPiece<Item> {
    isAtEnd = true
    return .items(cutter.finish())
  }

  private mutating func end(with reason: String) -> InputPiece<Item> {
    isAtEnd = true
    return .broken(reason)
  }

  // A line that is not whole is not used: the beginning of a URL is another URL.
  private var extent: String { "it was read up to line \(cutter.lines), and nothing after that is used" }
}
