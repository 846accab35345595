import HeadgateThreads

/// How far the sending of something in pieces has come, and the errors that say so.
struct ChunkSending<Failure: Error> {
  /// How many bytes are behind us.
  private(set) var offset: Int
  private let start = Deadline.now

  init(from offset: Int) { self.offset = offset }

  /// Where the next piece is, of so many bytes; nil at the end.
  func next(of total: Int, _ size: Int) -> Range<Int>? {
    offset < total ? offset..<offset + min(size, total - offset) : nil
  }

  /// Reads on a thread that may block.
  nonisolated(nonsending) func read<Value: Sendable>(
    _ call: @escaping @Sendable () throws(ChunkFileError) -> Value
  ) async throws(FlowError<Failure>) -> Value {
    do throws(PoolTaskError<ChunkFileError>) {
      return try await ThreadPool.blocking { () throws(ChunkFileError) in try call() }
    } catch {
      if error.code == .cancelled { throw self.error(.cancelled) }
      throw self.error(.sourceFailed, error.failure ?? error)
    }
  }

  /// Reads on the calling thread.
  func readHere<Value>(_ call: () throws(ChunkFileError) -> Value) throws(FlowError<Failure>) -> Value {
    do throws(ChunkFileError) { return try call() } catch { throw self.error(.sourceFailed, error) }
  }

  nonisolated(nonsending) func send<Piece: Sendable>(
    _ piece: Piece, until deadline: Deadline, _ send: @escaping @Sendable (Piece) async throws(Failure) -> Void
  ) async -> CallWait<Void, Failure>.Outcome {
    if Task.isCancelled { return .left(.cancelled) }
    guard deadline == .distantFuture else {
      return await cutShort(at: deadline, on: TimerThread.shared, discard: nil) { () async throws(Failure) in
        try await send(piece)
      }
    }
    do throws(Failure) {
      return .ended(.success(try await send(piece)))
    } catch {
      return .ended(.failure(error))
    }
  }

  /// A piece was sent up to its end, or not.
  mutating func end(_ end: Int, _ outcome: CallWait<Void, Failure>.Outcome) throws(FlowError<Failure>) {
    switch outcome {
    case .ended(.success): offset = end
    case .ended(.failure(let failure)):
      throw FlowError(
        .failed, failures: [failure], deciding: 0, operation: "sendChunks", waited: .now - start, offset: offset)
    case .ended(.missing(let code, let underlying)): throw error(code, underlying)
    case .left(let code): throw error(code)
    }
  }

  func error(_ code: FlowErrorCode, _ underlying: (any Error)? = nil) -> FlowError<Failure> {
    FlowError(code, operation: "sendChunks", waited: .now - start, offset: offset, underlying: underlying)
  }
}
