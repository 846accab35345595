import HeadgateThreads

/// Goes through so many bytes piece by piece, one after another, by the places of the pieces alone: for a source that `send`
/// reads itself, so that nothing of it is held in memory here.
///
///     try await sendChunks(ofLength: total, size: 8 << 20, from: known) { range in
///       try await client.put(file: path, range)
///     }
///
/// A length of 0 sends nothing. Otherwise as the form for files.
///
/// - Parameters:
///   - total: How long the source is, in bytes; not negative.
///   - size: The most bytes of a piece; 1 or more. Only the last piece is shorter.
///   - offset: Where to begin, in bytes: what an earlier attempt reached (``FlowError/offset``). The end is as good, and
///     sends nothing.
///   - deadline: When to end; a piece that is being sent is cancelled and waited for.
///   - progress: Told after each piece.
///   - send: What is done with each piece. Nothing is sent after the first failure.
/// - Returns: How many bytes the source has behind it: all.
/// - Throws: ``FlowError``, whose ``FlowError/offset`` says how far it came: `failed` with what `send` threw, `timedOut`,
///   `cancelled`, `invalidArgument` (also an offset beyond the end).
@discardableResult
nonisolated(nonsending)
  public func sendChunks<Failure: Error>(
    ofLength total: Int, size: Int = 100_000, from offset: Int = 0, until deadline: Deadline = .distantFuture,
    progress: (@Sendable (ChunkProgress) -> Void)? = nil,
    _ send: @escaping @Sendable (Range<Int>) async throws(Failure) -> Void
  ) async throws(FlowError<Failure>) -> Int
{
  var sending = ChunkSending<Failure>(from: offset)
  guard size > 0, offset >= 0, offset <= total else { throw sending.error(.invalidArgument) }
  while let range = sending.next(of: total, size) {
    try sending.end(range.upperBound, await sending.send(range, until: deadline, send))
    progress?(ChunkProgress(sent: range.upperBound, total: total))
  }
  return sending.offset
}
