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
