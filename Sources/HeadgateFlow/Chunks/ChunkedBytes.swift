/// A byte stream divided into chunks of one size; only the last may be shorter. Chunks are never empty.
///
/// Holds one element of the source and one chunk at a time. An error of the source is thrown after all complete chunks
/// before it.
public struct ChunkedBytes<Base: AsyncSequence>: AsyncSequence
where Base.Element: Collection, Base.Element.Element == UInt8 {
  /// A chunk.
  public typealias Element = [UInt8]
  /// The error type of the source.
  public typealias Failure = Base.Failure

  let base: Base
  let size: Int

  init(_ base: Base, size: Int) {
    self.base = base
    self.size = Swift.max(size, 1)
  }

  /// Creates an iterator over the source's bytes.
  public func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), size: size) }

  /// Produces the chunks.
  public struct Iterator: AsyncIteratorProtocol {
    private var base: Base.AsyncIterator
    private let size: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var toSkip = 0
    private var isAtEnd = false

    init(base: Base.AsyncIterator, size: Int) {
      self.base = base
      self.size = size
    }

    /// Skips `count` bytes at the start. Called before the first chunk is requested.
    mutating func skip(_ count: Int) { toSkip = count }

    /// Whether the source ended before all bytes to skip had arrived.
    var wasTooShort: Bool { isAtEnd && toSkip > 0 }

    /// The next chunk; nil after the last.
    public mutating func next() async throws(Base.Failure) -> [UInt8]? { try await next(isolation: nil) }

    /// The next chunk, under the caller's isolation.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> [UInt8]? {
      while !isAtEnd, buffer.count - start < size {
        guard let element = try await base.next(isolation: actor) else {
          isAtEnd = true
          break
        }
        // Only the remainder, less than a chunk, is moved to the front.
        buffer.removeFirst(start)
        start = 0
        buffer.append(contentsOf: element)
        let skipped = Swift.min(toSkip, buffer.count)
        (start, toSkip) = (skipped, toSkip - skipped)
      }
      guard start < buffer.count else { return nil }
      let end = Swift.min(start + size, buffer.count)
      defer { start = end }
      return Array(buffer[start..<end])
    }
  }
}

extension ChunkedBytes: Sendable where Base: Sendable {}

extension AsyncSequence where Element: Collection, Element.Element == UInt8 {
  /// The bytes in chunks of `size`, at least 1, however the source divides them. Only the last may be shorter.
  public func chunked(size: Int) -> ChunkedBytes<Self> { ChunkedBytes(self, size: size) }
}

extension AsyncSequence where Element == UInt8 {
  /// The bytes in chunks of `size`, at least 1. Only the last may be shorter.
  public func chunked(size: Int) -> ChunkedBytes<AsyncMapSequence<Self, CollectionOfOne<UInt8>>> {
    map { CollectionOfOne($0) }.chunked(size: size)
  }
}
