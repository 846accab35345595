import HeadgateThreads

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
