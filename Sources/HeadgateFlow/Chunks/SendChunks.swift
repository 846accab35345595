import HeadgateThreads

/// Sends a file piece by piece, one after another, and never holds more than one piece in memory.
///
///     try await sendChunks(ofFile: path, size: 100_000, from: known) { chunk in
///       try await client.put(chunk.bytes, at: chunk.offset)
///     }
///
/// An empty file sends nothing. Cancelled, it ends with the offset that was reached, once the piece that is being sent has
/// ended. The file is read on a thread where that may block. As much is sent as the file had when it was opened: what is
/// appended meanwhile is left out, and one that has become shorter ends with `sourceShrank` before the first piece that
/// is not whole.
///
/// - Parameters:
///   - path: The file.
///   - size: The most bytes of a piece; 1 or more. Only the last piece is shorter.
///   - offset: Where to begin, in bytes: what an earlier attempt reached (``FlowError/offset``). The end of the file is
///     as good, and sends nothing.
///   - deadline: When to end; a piece that is being sent is cancelled and waited for.
///   - progress: Told after each piece.
///   - send: What is done with each piece. Nothing is sent after the first failure.
/// - Returns: How many bytes the source has behind it: all.
/// - Throws: ``FlowError``, whose ``FlowError/offset`` says how far it came: `failed` with what `send` threw,
///   `sourceFailed` (the file can't be read: see ``FlowError/underlying``), `sourceShrank`, `timedOut`, `cancelled`,
///   `invalidArgument` (also an offset beyond the end).
@discardableResult
nonisolated(nonsending)
  public func sendChunks<Failure: Error>(
    ofFile path: String, size: Int = 100_000, from offset: Int = 0, until deadline: Deadline = .distantFuture,
    progress: (@Sendable (ChunkProgress) -> Void)? = nil,
    _ send: @escaping @Sendable (Chunk) async throws(Failure) -> Void
  ) async throws(FlowError<Failure>) -> Int
{
  var sending = ChunkSending<Failure>(from: offset)
  guard size > 0, offset >= 0 else { throw sending.error(.invalidArgument) }
  let file = try await sending.read { () throws(ChunkFileError) in try ChunkFile(path) }
  guard offset <= file.total else { throw sending.error(.invalidArgument) }
  while let range = sending.next(of: file.total, size) {
    let bytes = try await sending.read { () throws(ChunkFileError) in try file.read(range.count, at: range.lowerBound) }
    guard bytes.count == range.count else { throw sending.error(.sourceShrank) }
    let chunk = Chunk(offset: range.lowerBound, bytes: bytes, total: file.total)
    try sending.end(chunk.end, await sending.send(chunk, until: deadline, send))
    progress?(ChunkProgress(sent: chunk.end, total: file.total))
  }
  return sending.offset
}

/// Sends a stream of bytes piece by piece, however it was cut before. As the form for files.
///
/// - Parameters:
///   - source: The bytes, in pieces of any length.
///   - size: The most bytes of a piece; 1 or more.
///   - offset: How many bytes at the start of the source are skipped, having been sent before.
///   - deadline: When to end; a piece that is being sent is cancelled and waited for.
///   - progress: Told after each piece.
///   - send: What is done with each piece.
/// - Returns: How many bytes there were, those included that were skipped.
/// - Throws: ``FlowError``: as the form for files; `sourceFailed` with what the source threw, after the whole pieces
///   before that; `invalidArgument`, also for a source that ends before `offset`.
@discardableResult
nonisolated(nonsending)
  public func sendChunks<Source: AsyncSequence, Failure: Error>(
    of source: Source, size: Int = 100_000, from offset: Int = 0, until deadline: Deadline = .distantFuture,
    progress: (@Sendable (ChunkProgress) -> Void)? = nil,
    _ send: @escaping @Sendable (Chunk) async throws(Failure) -> Void
  ) async throws(FlowError<Failure>) -> Int
where Source.Element: Collection, Source.Element.Element == UInt8 {
  var sending = ChunkSending<Failure>(from: offset)
  guard size > 0, offset >= 0 else { throw sending.error(.invalidArgument) }
  var iterator = source.chunked(size: size).makeAsyncIterator()
  iterator.skip(offset)
  while true {
    let bytes: [UInt8]?
    do {
      bytes = try await iterator.next(isolation: #isolation)
    } catch {
      throw Task.isCancelled ? sending.error(.cancelled) : sending.error(.sourceFailed, error)
    }
    guard let bytes else {
      if iterator.wasTooShort { throw sending.error(.invalidArgument) }
      break
    }
    let chunk = Chunk(offset: sending.offset, bytes: bytes, total: nil)
    try sending.end(chunk.end, await sending.send(chunk, until: deadline, send))
    progress?(ChunkProgress(sent: chunk.end, total: nil))
  }
  return sending.offset
}

/// Sends a file piece by piece by a callback function, and blocks the calling thread, which also reads the file.
///
/// As the async form.
///
/// - Parameters:
///   - path: The file.
///   - size: The most bytes of a piece; 1 or more.
///   - offset: Where to begin, in bytes.
///   - deadline: When to give up: the piece that is being sent is cancelled and abandoned.
///   - progress: Told after each piece.
///   - send: What is called with each piece and a completion for its end.
/// - Returns: How many bytes the source has behind it: all.
/// - Throws: ``FlowError``: as the async form, and `unanswered`, `wouldDeadlock`, `onCooperativeThread`.
@available(*, noasync, message: "blocks the thread; use the form for async functions")
@discardableResult
public func sendChunks<Failure: Error>(
  ofFile path: String, size: Int = 100_000, from offset: Int = 0, until deadline: Deadline,
  progress: (@Sendable (ChunkProgress) -> Void)? = nil,
  _ send: @escaping @Sendable (Chunk, Completion<Void, Failure>) -> Void
) throws(FlowError<Failure>) -> Int {
  var sending = ChunkSending<Failure>(from: offset)
  guard size > 0, offset >= 0 else { throw sending.error(.invalidArgument) }
  guard !WorkerThread.mustNotBlock else { throw sending.error(.onCooperativeThread) }
  let file = try sending.readHere { () throws(ChunkFileError) in try ChunkFile(path) }
  guard offset <= file.total else { throw sending.error(.invalidArgument) }
  while let range = sending.next(of: file.total, size) {
    let bytes = try sending.readHere { () throws(ChunkFileError) in try file.read(range.count, at: range.lowerBound) }
    guard bytes.count == range.count else { throw sending.error(.sourceShrank) }
    let chunk = Chunk(offset: range.lowerBound, bytes: bytes, total: file.total)
    try sending.end(chunk.end, CallWait<Void, Failure>.block(until: deadline) { send(chunk, $0) })
    progress?(ChunkProgress(sent: chunk.end, total: file.total))
  }
  return sending.offset
}
