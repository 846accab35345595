import HeadgateThreads

/// A part of a file that is sent by one request.
public struct UploadChunk: Hashable, Sendable {
  /// Its range of bytes in the file, never empty.
  public let range: Range<Int64>

  /// The length of the file in bytes.
  public let total: Int64

  /// Whether this is the last chunk.
  public var isLast: Bool { range.upperBound == total }

  /// The value of its `Content-Range` field: `bytes 0-99/1000`.
  public var contentRange: String { "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)" }
}

/// Why an upload in chunks ended early, and the offset where it can resume.
public struct ChunkUploadError: HeadgateError {
  /// What happened. More codes may be added: a `switch` needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs.
    public let description: String
    let words: String

    /// A request failed: ``ChunkUploadError/underlyingError`` is its `DispatchError`.
    public static let requestFailed = Code(description: "request_failed", words: "a request failed")
    /// The server answered with a status that does not mean success: see ``ChunkUploadError/response``.
    public static let notAccepted = Code(description: "not_accepted", words: "the server did not accept a chunk")
    /// The file could not be read, or became shorter: ``ChunkUploadError/underlyingError`` is a ``RequestBodyError``.
    public static let fileFailed = Code(description: "file_failed", words: "the file could not be read")
    /// `makeRequest` threw: ``ChunkUploadError/underlyingError`` is the thrown error.
    public static let requestNotMade = Code(description: "request_not_made", words: "a request could not be created")
    /// The task was cancelled.
    public static let cancelled = Code(description: "cancelled", words: "cancelled")
    /// A size below 1, or an offset below 0 or beyond the file's end.
    public static let invalidArgument = Code(
      description: "invalid_argument", words: "size or offset out of range")
  }

  /// What happened.
  public let code: Code

  /// The number of bytes that the server has accepted: the offset to resume at.
  public let offset: Int64

  /// The response to the chunk that was not accepted. Nil for other errors.
  public let response: DispatchResponse?

  /// The underlying error. Nil if there is none.
  public let underlyingError: (any Error)?

  init(_ code: Code, at offset: Int64, response: DispatchResponse? = nil, _ underlyingError: (any Error)? = nil) {
    self.code = code
    self.offset = offset
    self.response = response
    self.underlyingError = underlyingError
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// A readable text: what happened, at which offset, and what to do.
  public var description: String {
    let status = response.map { ", status \($0.statusCode)" } ?? ""
    let cause = underlyingError.map { " (\($0))" } ?? ""
    return "upload in chunks: \(code.words) at byte \(offset)\(status)\(cause); resume with `from: \(offset)`"
  }
}
