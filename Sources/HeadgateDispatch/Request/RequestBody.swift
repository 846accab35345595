import HeadgateThreads

/// The body of a request: bytes from memory, from a file or from an asynchronous sequence of pieces, or a form.
///
///     request.body = RequestBody("text")
///     request.body = RequestBody(file: "/var/log/big.log")
///     request.body = RequestBody(pieces, length: 10_000)
///     request.body = RequestBody(multipart: [BodyPart("file", file: "/var/log/big.log")])
///
/// A body is a description: nothing is opened or read before the request has its permit. Memory use is bounded: less
/// than half a megabyte of a file, and of a sequence at most the latest piece and 64 KB before it.
public struct RequestBody: Sendable {
  enum Content: Sendable {
    case bytes([UInt8])
    case slices(BodySlices)
    case file(BodyPlace, range: Range<Int64>?)
    case sequence(BodySequence)
    case parts(MultipartBody)
  }

  let content: Content

  /// The media type, such as `application/json`. A request whose body is set to this one gets the type as its
  /// `Content-Type`, unless that field is set. Nil by default, except for JSON and forms.
  public var contentType: String?

  /// Whether the body may be sent a second time: for a 307 or 308 redirect, with a credential, or for a retry. True
  /// for memory and files unless specified otherwise, and for sequences created for each use.
  public let canBeSentAgain: Bool

  /// The bytes of a body created from an array or a text, or of a form without files; nil for all others.
  public var bytes: [UInt8]? {
    if case .bytes(let bytes) = content { bytes } else { nil }
  }

  /// The number of bytes, if known before the body is opened. Nil for a whole file, a form with files, and a sequence
  /// without a given length.
  public var length: Int64? {
    switch content {
    case .bytes(let bytes): Int64(bytes.count)
    case .slices(let slices): Int64(slices.count)
    // Wraps around and clamps: the bounds of an invalid range may be too far apart for an `Int64`.
    case .file(_, let range): range.map { Int64(clamping: UInt64(bitPattern: $0.upperBound &- $0.lowerBound)) }
    case .sequence(let sequence): sequence.length
    case .parts: nil
    }
  }

  /// Creates a body from memory.
  ///
  /// - Parameters:
  ///   - bytes: The bytes.
  ///   - canBeSentAgain: Whether it may be sent a second time, for example for a 307 or 308 redirect.
  public init(_ bytes: [UInt8], canBeSentAgain: Bool = true) {
    content = .bytes(bytes)
    self.canBeSentAgain = canBeSentAgain
  }

  /// Creates a body from memory other than an array. It is copied slice by slice as it is sent, or not at all by a
  /// transport that can use `origin`.
  package init(_ slices: BodySlices) {
    content = .slices(slices)
    canBeSentAgain = true
  }

  /// The original object of a body from memory other than an array; nil for all others.
  package var origin: (any Sendable)? {
    if case .slices(let slices) = content { slices.origin } else { nil }
  }

  /// Creates a body of UTF-8 text.
  public init(_ text: String) { self.init(Array(text.utf8)) }

  /// Creates a body from a file, which is opened when the request runs and read piece by piece on a file thread.
  ///
  /// The length is fixed when the file is opened. The request fails with `bodyFailed`, and a ``RequestBodyError`` with
  /// the path, if the file can't be read, is not a regular file, ends before the range does, or, if all of it is sent,
  /// changes before its last piece has been read. For a file that is still being written, send a range: data appended
  /// after it has no effect.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - range: The bytes to send, counted from 0; nil for all of them. An empty range is an empty body. A range that
  ///     begins below 0 or exceeds the file fails the request.
  ///   - canBeSentAgain: Whether it may be sent a second time; the file is opened again for that.
  public init(file path: String, range: Range<Int64>? = nil, canBeSentAgain: Bool = true) {
    content = .file(.path(path), range: range)
    self.canBeSentAgain = canBeSentAgain
  }

  /// Creates a body from a whole file below a folder.
  package init(file path: String, below folder: FileFolder) {
    content = .file(.below(folder, path), range: nil)
    canBeSentAgain = true
  }

  /// Creates a body from a sequence, which can be sent once. If it is needed again, the request fails with
  /// `bodyNotReplayable`, unless nothing had been read from the sequence (see ``DispatchRequest/expectsContinue``).
  ///
  /// The sequence is iterated in a task of its own, and asked for a piece only while the transport has room. If it
  /// throws, the request fails with `bodyFailed`, with the thrown error as `DispatchError.underlyingError`. If the
  /// request ends before the sequence, the task is cancelled.
  ///
  /// - Parameters:
  ///   - pieces: The bytes, in pieces of any length; empty pieces are skipped. Use `chunked(size:)` for a sequence of
  ///     single bytes.
  ///   - length: The total number of bytes. The request fails if it is wrong; to detect this, the last byte is sent
  ///     only when the sequence has ended. Nil: the body is sent chunked, until the sequence ends.
  public init<Pieces: AsyncSequence & Sendable>(_ pieces: Pieces, length: Int64? = nil)
  where Pieces.Element: Sequence, Pieces.Element.Element == UInt8 {
    content = .sequence(BodySequence(length: length, use: SingleUse()) { pieces })
    canBeSentAgain = false
  }

  /// Creates a body from a sequence that is created each time the body is sent, so it can be sent again. Otherwise
  /// like ``init(_:length:)``.
  ///
  /// - Parameters:
  ///   - length: The total number of bytes, each time; nil for a chunked body.
  ///   - replayable: Creates the sequence. Called in a task of the body's own, at most once for each time it is sent.
  public init<Pieces: AsyncSequence>(length: Int64? = nil, replayable: @escaping @Sendable () -> Pieces)
  where Pieces.Element: Sequence, Pieces.Element.Element == UInt8 {
    content = .sequence(BodySequence(length: length, use: nil, replayable))
    canBeSentAgain = true
  }

  init(_ content: Content, canBeSentAgain: Bool) {
    (self.content, self.canBeSentAgain) = (content, canBeSentAgain)
  }

  /// Whether the body may be sent now, even if it has been sent before.
  var isReplayable: Bool {
    if canBeSentAgain { return true }
    // Nothing was read from the sequence: the server refused the request at `Expect: 100-continue`.
    if case .sequence(let sequence) = content, let use = sequence.use { return !use.isUsed }
    return false
  }
}

/// Memory of any type, as the content of a body.
package struct BodySlices: Sendable {
  package let count: Int
  package let origin: any Sendable
  let copy: @Sendable (Range<Int>) -> [UInt8]

  /// - Parameters:
  ///   - origin: The object that holds the bytes, for a transport that can use it.
  ///   - count: The number of bytes.
  ///   - copy: Returns the bytes in a range.
  package init(_ origin: any Sendable, count: Int, copy: @escaping @Sendable (Range<Int>) -> [UInt8]) {
    self.origin = origin
    self.count = count
    self.copy = copy
  }

  /// The bytes at an offset, at most the size of one piece of a file.
  func piece(at offset: Int) -> (bytes: [UInt8], isLast: Bool) {
    let end = min(count, offset + Int(BodyFile.pieceSize))
    return (copy(offset..<end), end == count)
  }
}
