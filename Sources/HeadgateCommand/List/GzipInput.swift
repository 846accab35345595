import HeadgateCurl

/// Unpacks gzip piece by piece. It holds one piece of text in memory, at any compression ratio.
final class GzipInput {
  enum Step {
    case bytes([UInt8])
    case needsMore
    /// The compressed data is complete, and the input has ended.
    case end
    /// The input has ended before the compressed data.
    case tooShort
    case broken
  }

  private let gzip: GzipBody
  private var packed: ArraySlice<UInt8> = []
  // Whether the last step produced text. Then the next may produce more without further bytes.
  private var mayHaveMore = false
  private var hasEnded = false

  /// Nil if memory is exhausted.
  init?() {
    guard let gzip = GzipBody(acceptsPadding: true) else { return nil }
    self.gzip = gzip
  }

  /// Adds compressed bytes. An empty array means that they have ended. Call it when ``next()`` needs more.
  func add(_ bytes: [UInt8]) {
    packed = bytes[...]
    (mayHaveMore, hasEnded) = (true, bytes.isEmpty)
  }

  /// The next piece of text.
  func next() -> Step {
    if mayHaveMore || !packed.isEmpty {
      var text: [UInt8] = []
      let used = packed.withUnsafeBytes { bytes in
        gzip.inflate(bytes) { piece in
          text = Array(piece)
          return false
        }
      }
      guard let used else { return .broken }
      packed = packed.dropFirst(used)
      mayHaveMore = !text.isEmpty
      if mayHaveMore { return .bytes(text) }
    }
    guard hasEnded else { return .needsMore }
    return gzip.isWhole ? .end : .tooShort
  }
}
