import HeadgateThreads

/// Sends a file in chunks, one after another, with at most one chunk in memory.
///
///     try await sendChunks(ofFile: path, size: 100_000, from: known) { chunk in
///       try await client.put(chunk.bytes, at: chunk.offset)
///     }
///
/// An empty file sends nothing. If the task is cancelled, the call ends after the current chunk; `progress` has then
/// been told how many bytes were sent. The file is read on a thread that may block. The call sends the length that the
/// file had when it was opened. Data appended meanwhile is ignored. If the file becomes shorter, the call ends with
/// `sourceShrank` before the first incomplete chunk.
///
/// - Parameters:
///   - path: The file.
///   - size: The maximum number of bytes per chunk; 1 or more. Only the last chunk is shorter.
///   - offset: Where to start, in bytes: the progress of an earlier attempt (``FlowError/offset``). The end of the file
///     is valid, and sends nothing.
///   - deadline: When to stop. The current chunk is cancelled and waited for.
///   - timers: The clock of the deadline.
///   - progress: Called after each chunk.
///   - send: Sends a chunk. It is not called again after a failure.
/// - Returns: The number of bytes sent, including those before `offset`: the length of the source.
/// - Throws: ``FlowError``, whose ``FlowError/offset`` is the progress: `failed` with the error of `send`,
///   `sourceFailed` (the file cannot be read: see ``FlowError/underlyingError``), `sourceShrank`, `timedOut`,
///   `invalidArgument` (including an offset beyond the end). `CancellationError` if the task was cancelled.
@discardableResult
nonisolated(nonsending)
  public func sendChunks(
    ofFile path: String, size: Int = 100_000, from offset: Int = 0, until deadline: Deadline = .distantFuture,
    on timers: any TimerService = TimerThread.deadlines, progress: (@Sendable (ChunkProgress) -> Void)? = nil,
    _ send: @escaping @Sendable (Chunk) async throws -> Void
  ) async throws -> Int
{
  let unread = try ChunkSending(from: offset, size, of: nil, until: deadline, on: timers, progress)
  let file = try await unread.read { () throws(ChunkFileError) in try ChunkFile(path) }
  var sending = try ChunkSending(from: offset, size, of: file.total, until: deadline, on: timers, progress)
  while let range = sending.next {
    let bytes = try await sending.read { () throws(ChunkFileError) in try file.read(range.count, at: range.lowerBound) }
    guard bytes.count == range.count else { throw sending.error(.sourceShrank) }
    try await sending.send(
      Chunk(offset: range.lowerBound, bytes: bytes, total: file.total), upTo: range.upperBound, send)
  }
  return sending.offset
}

extension ChunkSending {
  /// Reads on a thread that may block.
  fileprivate nonisolated(nonsending) func read<Value: Sendable>(
    _ call: @escaping @Sendable () throws(ChunkFileError) -> Value
  ) async throws -> Value {
    do {
      return try await ThreadPool.blocking { () throws(ChunkFileError) in try call() }
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      throw self.error(.sourceFailed, error)
    }
  }
}

/// Sends a byte stream in chunks, however the source divides it. Otherwise like the form for files.
///
/// - Parameters:
///   - source: The bytes, in elements of any length.
///   - size: The maximum number of bytes per chunk; 1 or more.
///   - offset: How many bytes at the start of the source to skip, because they were sent before.
///   - deadline: When to stop. The current chunk is cancelled and waited for. A wait for the source's next bytes is not
///     ended.
///   - timers: The clock of the deadline.
///   - progress: Called after each chunk.
///   - send: Sends a chunk.
/// - Returns: The length of the source in bytes, including the skipped ones.
/// - Throws: ``FlowError``, like the form for files; `sourceFailed` with the source's error, after all complete chunks
///   before it; `invalidArgument`, including for a source that ends before `offset`.
@discardableResult
nonisolated(nonsending)
  public func sendChunks<Source: AsyncSequence>(
    of source: Source, size: Int = 100_000, from offset: Int = 0, until deadline: Deadline = .distantFuture,
    on timers: any TimerService = TimerThread.deadlines, progress: (@Sendable (ChunkProgress) -> Void)? = nil,
    _ send: @escaping @Sendable (Chunk) async throws -> Void
  ) async throws -> Int
where Source.Element: Collection, Source.Element.Element == UInt8 {
  var sending = try ChunkSending(from: offset, size, of: nil, until: deadline, on: timers, progress)
  var iterator = source.chunked(size: size).makeAsyncIterator()
  iterator.skip(offset)
  while true {
    let bytes: [UInt8]?
    do {
      bytes = try await iterator.next(isolation: #isolation)
    } catch {
      try Task.checkCancellation()
      throw sending.error(.sourceFailed, error)
    }
    guard let bytes else {
      if iterator.wasTooShort { throw sending.error(.invalidArgument) }
      return sending.offset
    }
    let chunk = Chunk(offset: sending.offset, bytes: bytes, total: nil)
    try await sending.send(chunk, upTo: chunk.end, send)
  }
}

/// Divides a length into consecutive byte ranges and sends them one after another. For a source that `send` reads
/// itself, so that no data is held here.
///
///     try await sendChunks(ofLength: total, size: 8 << 20, from: known) { range in
///       try await client.put(file: path, range)
///     }
///
/// A length of 0 sends nothing. Otherwise like the form for files.
///
/// - Parameters:
///   - total: The length of the source in bytes; not negative.
///   - size: The maximum number of bytes per chunk; 1 or more. Only the last chunk is shorter.
///   - offset: Where to start, in bytes: the progress of an earlier attempt (``FlowError/offset``). The end is valid,
///     and sends nothing.
///   - deadline: When to stop. The current chunk is cancelled and waited for.
///   - timers: The clock of the deadline.
///   - progress: Called after each chunk.
///   - send: Sends a chunk. It is not called again after a failure.
/// - Returns: The number of bytes sent, including those before `offset`: the length of the source.
/// - Throws: ``FlowError``, whose ``FlowError/offset`` is the progress: `failed` with the error of `send`, `timedOut`,
///   `invalidArgument` (including an offset beyond the end). `CancellationError` if the task was cancelled.
@discardableResult
nonisolated(nonsending)
  public func sendChunks(
    ofLength total: Int, size: Int = 100_000, from offset: Int = 0, until deadline: Deadline = .distantFuture,
    on timers: any TimerService = TimerThread.deadlines, progress: (@Sendable (ChunkProgress) -> Void)? = nil,
    _ send: @escaping @Sendable (Range<Int>) async throws -> Void
  ) async throws -> Int
{
  var sending = try ChunkSending(from: offset, size, of: total, until: deadline, on: timers, progress)
  while let range = sending.next { try await sending.send(range, upTo: range.upperBound, send) }
  return sending.offset
}
