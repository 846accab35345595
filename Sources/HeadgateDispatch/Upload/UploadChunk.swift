import HeadgateThreads

/// A part of a file that is sent by a request of its own.
public struct UploadChunk: Hashable, Sendable {
  /// Its bytes, counted from the file's start; never empty.
  public let range: Range<Int64>

  /// How long the file is.
  public let total: Int64

  /// Whether no other follows.
  public var isLast: Bool { range.upperBound == total }

  /// The value of its `Content-Range` field: `bytes 0-99/1000`.
  public var contentRange: String { ContentRange(range, of: total)?.description ?? "" }
}

/// Why the sending of a file in chunks ended before the file did, and from where it can go on.
public struct ChunkUploadError: HeadgateError {
  /// What happened. More may be added: a `switch` needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs.
    public let description: String
    let words: String

    /// A request failed: ``ChunkUploadError/underlying`` is its ``DispatchError``.
    public static let requestFailed = Code(description: "request_failed", words: "a request failed")
    /// The server answered with a status that is none of success: see ``ChunkUploadError/response``.
    public static let notAccepted = Code(description: "not_accepted", words: "the server did not accept a chunk")
    /// The file can't be read, or became shorter: ``ChunkUploadError/underlying`` is a ``RequestBodyError``.
    public static let fileFailed = Code(description: "file_failed", words: "the file could not be read")
    /// The request could not be made: ``ChunkUploadError/underlying`` is what was thrown.
    public static let requestNotMade = Code(description: "request_not_made", words: "a request could not be made")
    /// The task was cancelled.
    public static let cancelled = Code(description: "cancelled", words: "it was cancelled")
    /// A size below 1, or an offset below 0 or beyond the file's end.
    public static let invalidArgument = Code(
      description: "invalid_argument", words: "the size or the offset is out of its range")
  }

  /// What happened.
  public let code: Code

  /// How many bytes of the file the server has accepted: where to go on.
  public let offset: Int64

  /// The answer to the chunk that was not accepted; nil where there was none.
  public let response: DispatchResponse?

  /// What it came from; nil where there is nothing more to tell.
  public let underlying: (any Error)?

  init(_ code: Code, at offset: Int64, response: DispatchResponse? = nil, _ underlying: (any Error)? = nil) {
    self.code = code
    self.offset = offset
    self.response = response
    self.underlying = underlying
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// The same as ``underlying``.
  public var underlyingError: (any Error)? { underlying }

  /// For people: what happened, how far it had come, and what to do.
  public var description: String {
    let status = response.map { ", status \($0.statusCode)" } ?? ""
    let cause = underlying.map { " (\($0))" } ?? ""
    return "upload in chunks: \(code.words) at byte \(offset)\(status)\(cause); go on with `from: \(offset)`"
  }
}
