import HeadgateThreads

/// What a request carries: bytes from memory, from a file, or from a sequence that brings them piece by piece.
///
///     request.body = RequestBody("text")
///     request.body = RequestBody(file: "/var/log/big.log")
///     request.body = RequestBody(pieces, length: 10_000)
///
/// A body is a description: nothing is opened, read or asked for before the request has its permit. Whatever its length,
/// less than half a megabyte of a file is held in memory, and of a sequence at most the piece that it brought last and
/// 64 KB before it.
public struct RequestBody: Sendable {
  enum Content: Sendable {
    case bytes([UInt8])
    case slices(BodySlices)
    case file(path: String, range: Range<Int64>?)
    case sequence(BodySequence)
  }

  let content: Content

  /// Whether it may be sent a second time: to where a 307 or 308 points, with a credential, by a retry. True for memory
  /// and files unless said otherwise, and for sequences that are made anew each time.
  public let canBeSentAgain: Bool

  /// The bytes of a body that was made from an array or a text; nil for all others.
  public var bytes: [UInt8]? {
    if case .bytes(let bytes) = content { bytes } else { nil }
  }

  /// How many bytes it has, where that is known before it is opened: not for a whole file, nor for a sequence that was
  /// given none.
  public var length: Int64? {
    switch content {
    case .bytes(let bytes): Int64(bytes.count)
    case .slices(let slices): Int64(slices.count)
    // A range that no file holds may be longer than any number.
    case .file(_, let range): range.map { Int64(clamping: UInt64(bitPattern: $0.upperBound &- $0.lowerBound)) }
    case .sequence(let sequence): sequence.length
    }
  }

  /// A body from memory.
  ///
  /// - Parameters:
  ///   - bytes: The bytes.
  ///   - canBeSentAgain: Whether it may be sent a second time, to where a 307 or 308 points, say.
  public init(_ bytes: [UInt8], canBeSentAgain: Bool = true) {
    content = .bytes(bytes)
    self.canBeSentAgain = canBeSentAgain
  }

  /// A body from memory that is no array: it is copied slice by slice as it is sent, or not at all by a transport that
  /// can take `origin`.
  package init(_ slices: BodySlices) {
    content = .slices(slices)
    canBeSentAgain = true
  }

  /// What a body from memory that is no array was made from; nil for all others.
  package var origin: (any Sendable)? {
    if case .slices(let slices) = content { slices.origin } else { nil }
  }

  /// A body of UTF-8 text.
  public init(_ text: String) { self.init(Array(text.utf8)) }

  /// A body from a file, which is opened when the request runs and read piece by piece on threads for files.
  ///
  /// It is sent as long as it was when it was opened. The request fails with `bodyFailed`, and ``RequestBodyError`` says
  /// why with the path, when the file can't be read, is no file (a folder, a pipe), ends before the range does, or became
  /// shorter or longer before its last piece was read. One that is written to is better sent as a range: what is appended
  /// behind a range changes nothing.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - range: The bytes to send, counted from 0; nil for all of them. An empty range is an empty body. One that
  ///     begins below 0 or goes beyond the file's end fails the request.
  ///   - canBeSentAgain: Whether it may be sent a second time; it is opened anew for that.
  public init(file path: String, range: Range<Int64>? = nil, canBeSentAgain: Bool = true) {
    content = .file(path: path, range: range)
    self.canBeSentAgain = canBeSentAgain
  }

  /// A body from a sequence, which is sent once: whatever would need it again fails with `bodyNotReplayable`, unless
  /// nothing had been asked of the sequence (see ``DispatchRequest/expectsContinue``).
  ///
  /// The sequence is asked for its next piece, in a task of its own, only while the transport has room. What it throws
  /// fails the request with `bodyFailed` and stands there as ``DispatchError/underlying``. When the request ends before
  /// the sequence, the task is cancelled.
  ///
  /// - Parameters:
  ///   - pieces: The bytes, in pieces of any length; empty ones are passed over. A sequence of single bytes becomes one
  ///     by `chunked(size:)`.
  ///   - length: How many bytes there will be. The request fails if it is not so; its last byte is sent only when the
  ///     sequence has ended. Nil: the body is sent chunked, as far as the sequence goes.
  public init<Pieces: AsyncSequence & Sendable>(_ pieces: Pieces, length: Int64? = nil)
  where Pieces.Element: Sequence, Pieces.Element.Element == UInt8 {
    content = .sequence(BodySequence(length: length, use: SingleUse()) { pieces })
    canBeSentAgain = false
  }

  /// A body from a sequence that is made each time the body is sent: it can be sent again. As ``init(_:length:)`` for the
  /// rest.
  ///
  /// - Parameters:
  ///   - length: How many bytes there will be each time; nil for a chunked body.
  ///   - replayable: Makes the sequence. Called on a task of the body's own, at most once for each time it is sent.
  public init<Pieces: AsyncSequence>(length: Int64? = nil, replayable: @escaping @Sendable () -> Pieces)
  where Pieces.Element: Sequence, Pieces.Element.Element == UInt8 {
    content = .sequence(BodySequence(length: length, use: nil, replayable))
    canBeSentAgain = true
  }

  /// Whether it may be sent now, after it may have been sent before.
  var isReplayable: Bool {
    if canBeSentAgain { return true }
    // Nothing was asked of it: a server that was asked first said no.
    if case .sequence(let sequence) = content, let use = sequence.use { return !use.isUsed }
    return false
  }
}

/// Memory of whatever type, as a body has it.
package struct BodySlices: Sendable {
  package let count: Int
  package let origin: any Sendable
  let copy: @Sendable (Range<Int>) -> [UInt8]

  /// - Parameters:
  ///   - origin: What holds the bytes, as a transport may take it.
  ///   - count: How many there are.
  ///   - copy: The bytes in a range.
  package init(_ origin: any Sendable, count: Int, copy: @escaping @Sendable (Range<Int>) -> [UInt8]) {
    self.origin = origin
    self.count = count
    self.copy = copy
  }
}

/// Brings a body from memory slice by slice.
final class SliceProducer: BodyProducer {
  private static let size = 256 * 1024

  private let slices: BodySlices
  private let offset = Locked(0)

  init(_ slices: BodySlices) { self.slices = slices }

  func ask(_ feed: BodyFeed) {
    let range = offset.withLock { offset in
      let start = offset
      offset = min(slices.count, start + Self.size)
      return start..<offset
    }
    feed.put(slices.copy(range), last: range.upperBound == slices.count)
  }

  func stop() {}
}
