/// A stream of bytes cut anew, to pieces of one size; only the last may be shorter. Never an empty piece.
///
/// Holds one piece of the source and one of its own at a time. What the source throws comes after the bytes before it,
/// as far as they fill a piece.
public struct ChunkedBytes<Base: AsyncSequence>: AsyncSequence
where Base.Element: Collection, Base.Element.Element == UInt8 {
  /// A piece.
  public typealias Element = [UInt8]
  /// What the source throws.
  public typealias Failure = Base.Failure

  let base: Base
  let size: Int

  init(_ base: Base, size: Int) {
    self.base = base
    self.size = Swift.max(size, 1)
  }

  /// An iterator from wherever the source's begins.
  public func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), size: size) }

  /// Cuts the pieces.
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

    /// Leaves out so many bytes, before the first piece is asked for.
    mutating func skip(_ count: Int) { toSkip = count }

    /// Whether the source ended before so many had come.
    var wasTooShort: Bool { isAtEnd && toSkip > 0 }

    /// The next piece; nil after the last.
    public mutating func next() async throws(Base.Failure) -> [UInt8]? { try await next(isolation: nil) }

    /// The next piece, under the caller's isolation.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> [UInt8]? {
      while !isAtEnd, buffer.count - start < size {
        guard let element = try await base.next(isolation: actor) else {
          isAtEnd = true
          break
        }
        // Less than a piece is moved to the front, whatever came before it.
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
  /// The bytes in pieces of `size`, at least 1, however they were cut before; only the last may be shorter.
  public func chunked(size: Int) -> ChunkedBytes<Self> { ChunkedBytes(self, size: size) }
}

extension AsyncSequence where Element == UInt8 {
  /// The bytes in pieces of `size`, at least 1; only the last may be shorter.
  public func chunked(size: Int) -> ChunkedBytes<AsyncMapSequence<Self, CollectionOfOne<UInt8>>> {
    map { CollectionOfOne($0) }.chunked(size: size)
  }
}
