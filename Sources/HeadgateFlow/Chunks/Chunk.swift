import HeadgateLibC
import HeadgateThreads

/// A chunk of a file or of a byte stream.
public struct Chunk: Hashable, Sendable {
  /// Its start, in bytes from the start of the source.
  public let offset: Int

  /// Its bytes; never empty.
  public let bytes: [UInt8]

  /// The length of the source in bytes; nil for a stream, whose length is unknown.
  public let total: Int?

  /// Its end, in bytes from the start of the source.
  public var end: Int { offset + bytes.count }
}

/// The progress of a transfer.
public struct ChunkProgress: Hashable, Sendable {
  /// How many bytes of the source have been sent, including those skipped at the start.
  public let sent: Int

  /// The length of the source in bytes; nil for a stream.
  public let total: Int?
}

/// A file that cannot be read.
public struct ChunkFileError: HeadgateError, Hashable {
  /// The file's path.
  public let path: String

  /// The operation that failed: `open`, `read`.
  public let operation: String

  /// The system's error number.
  public let errno: Int32

  /// The failure as a word: `open_failed`.
  public var codeName: String { "\(operation)_failed" }

  /// A readable text.
  public var description: String { "\(operation) \"\(path)\": error \(errno)" }
}

/// A file that is read in chunks, up to the length that it had when it was opened. Its calls block.
final class ChunkFile: Sendable {
  /// Its length in bytes when it was opened.
  let total: Int
  private let path: String
  private let descriptor: Int32

  init(_ path: String) throws(ChunkFileError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ChunkFileError(path: path, operation: "open", errno: errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let number = errno
      close(descriptor)
      throw ChunkFileError(path: path, operation: "open", errno: number)
    }
    self.path = path
    self.descriptor = descriptor
    total = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Reads `count` bytes from an offset, or fewer if the file ends earlier.
  func read(_ count: Int, at offset: Int) throws(ChunkFileError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = bytes.withUnsafeMutableBytes { buffer in
        pread(descriptor, buffer.baseAddress?.advanced(by: filled), count - filled, off_t(offset + filled))
      }
      if got == 0 { break }
      if got > 0 {
        filled += got
      } else if errno != EINTR {
        throw ChunkFileError(path: path, operation: "read", errno: errno)
      }
    }
    bytes.removeLast(count - filled)
    return bytes
  }
}

/// The state of a transfer in chunks: its progress, and errors that contain it.
struct ChunkSending {
  /// How many bytes have been sent.
  private(set) var offset: Int
  let size: Int
  let total: Int?
  let deadline: Deadline
  let timers: any TimerService
  let progress: (@Sendable (ChunkProgress) -> Void)?
  private let start: Deadline

  init(
    from offset: Int, _ size: Int, of total: Int?, until deadline: Deadline,
    on timers: any TimerService, _ progress: (@Sendable (ChunkProgress) -> Void)?
  ) throws {
    self.offset = offset
    self.size = size
    self.total = total
    self.deadline = deadline
    self.timers = timers
    start = timers.now
    self.progress = progress
    guard size > 0, offset >= 0, offset <= total ?? .max else { throw error(.invalidArgument) }
  }

  /// The range of the next chunk; nil at the end.
  var next: Range<Int>? {
    guard let total, offset < total else { return nil }
    return offset..<offset + min(size, total - offset)
  }

  /// Sends one chunk, which ends at `end`.
  nonisolated(nonsending) mutating func send<Piece: Sendable>(
    _ piece: Piece, upTo end: Int, _ send: @escaping @Sendable (Piece) async throws -> Void
  ) async throws {
    try Task.checkCancellation()
    let sending = { @Sendable in try await send(piece) }
    switch await TimedEnd.of(sending, until: deadline, on: timers, nil) {
    case .success: offset = end
    case .failure(let failure):
      throw FlowError(
        .failed, failures: [failure], deciding: 0, operation: "sendChunks", waited: timers.now - start, offset: offset)
    case .timedOut: throw error(.timedOut)
    case .cancelled: throw CancellationError()
    }
    progress?(ChunkProgress(sent: offset, total: total))
  }

  func error(_ code: FlowError.Code, _ underlyingError: (any Error)? = nil) -> FlowError {
    FlowError(
      code, operation: "sendChunks", waited: timers.now - start, offset: offset, underlyingError: underlyingError)
  }
}

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
