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
  // The first bytes, until they tell whether the text is compressed.
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
    case .bytes(let bytes): return read(bytes)
    case .needsMore: return nil
    case .end: return read([])
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
    return read(bytes)
  }

  /// Reads bytes that may be text. An empty array means that they have ended.
  private mutating func read(_ bytes: [UInt8]) -> InputPiece<Item> {
    var bytes = bytes
    let isEnd = bytes.isEmpty
    if isFirst {
      first += bytes
      if !isEnd, Compression.mayBegin(first) { return .items([]) }
      if let compression = Compression(startingWith: first) { return unpack(compression) }
      (bytes, first, isFirst) = (first, [], false)
    }
    let items = cutter.cut(bytes)
    guard isEnd else { return .items(items) }
    isAtEnd = true
    return .items(items + cutter.finish())
  }

  private mutating func unpack(_ compression: Compression) -> InputPiece<Item> {
    // What is packed twice is not unpacked.
    guard compression == .gzip, gzip == nil else {
      isAtEnd = true
      return .compressed(compression)
    }
    guard let unpacker = GzipInput() else { return end(with: "there is no memory left to unpack it") }
    gzip = unpacker
    unpacker.add(first)
    first = []
    return next() ?? .items([])
  }

  private mutating func end(with reason: String) -> InputPiece<Item> {
    isAtEnd = true
    return .broken(reason)
  }

  // An incomplete line is not used, since the beginning of a URL is a different URL.
  private var extent: String { "it was read up to line \(cutter.lines), and nothing after that is used" }
}
