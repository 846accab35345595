import HeadgateThreads

/// A piece of a file or of a stream of bytes.
public struct Chunk: Hashable, Sendable {
  /// Where it begins, in bytes from the start of the source.
  public let offset: Int

  /// Its bytes; never empty.
  public let bytes: [UInt8]

  /// How long the source is, in bytes; nil for a stream, which does not tell.
  public let total: Int?

  /// Where it ends, in bytes from the start of the source.
  public var end: Int { offset + bytes.count }
}

/// How much has been sent.
public struct ChunkProgress: Hashable, Sendable {
  /// How many bytes of the source are behind us, those included that were skipped at the start.
  public let sent: Int

  /// How long the source is, in bytes; nil for a stream.
  public let total: Int?
}

/// A file that can't be read.
public struct ChunkFileError: HeadgateError, Hashable {
  /// The file's path.
  public let path: String

  /// What was tried: `open`, `read`.
  public let operation: String

  /// The system's error number.
  public let errno: Int32

  /// What was tried, as a word: `open_failed`.
  public var codeName: String { "\(operation)_failed" }

  /// For people.
  public var description: String { "\(operation) \"\(path)\": error \(errno)" }
}
