/// The next piece of an input.
enum InputPiece<Item: Sendable>: Sendable {
  case items([Item])
  /// The end of the input, or the stop signal.
  case end
  /// The input is compressed in a format that is not supported here.
  case compressed(Compression)
  /// The rest can't be read. The text gives the reason, and says how far the input was read.
  case broken(String)
}

/// Converts the bytes of an input, which may be gzip, into items. It holds the bytes of one piece in memory, and the
/// text of one unpacked piece.
struct InputText<Item: Sendable> {
  private var cutter: any InputCutter<Item>
  // The first byte of gzip data, which no text begins with. It is not conclusive alone.
  private var first: [UInt8] = []
  private var isFirst = true
  private var gzip: GzipInput?
  private(set) var isAtEnd = false

  init(_ cutter: any InputCutter<Item>) { self.cutter = cutter }

  /// The next piece, if it is available. Nil: more bytes are needed.
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

  /// Adds bytes of the input. An empty array means that the input has ended.
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

  // An incomplete line is not used, since the beginning of a URL is a different URL.
  private var extent: String { "it was read up to line \(cutter.lines), and nothing after that is used" }
}
