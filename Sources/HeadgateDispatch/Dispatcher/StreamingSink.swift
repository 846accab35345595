import DequeModule
import HTTPTypes
import HeadgateThreads

/// Buffers body pieces between the transport and the reader. Pauses the transport's reading of the socket while the
/// buffer is full.
final class StreamingSink: ResponseSink {
  typealias Waiter = @Sendable (Result<[UInt8]?, DispatchError>) -> Void

  private struct State {
    var pieces: Deque<[UInt8]> = []
    var backlog = Backlog.bytes
    var end: Result<Void, DispatchError>?
    var times: DispatchTimes?
    var trailers: HTTPFields = [:]
    var waiters: [Waiter] = []
    var onHead: (@Sendable (Result<StreamedResponse, DispatchError>) -> Void)?
  }

  private let state: Locked<State>

  init(onHead: @escaping @Sendable (Result<StreamedResponse, DispatchError>) -> Void) {
    state = Locked(State(onHead: onHead))
  }

  var mayPause: Bool { true }
  var timeoutEndsWithHead: Bool { true }

  func received(_ head: ResponseHead, url: String, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    let onHead = state.withLock { $0.onHead.take() }
    onHead?(.success(StreamedResponse(head: head, url: url, body: StreamedBody(operation, self))))
    return .more
  }

  func received(_ bytes: UnsafeRawBufferPointer, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    guard !bytes.isEmpty else { return .more }
    let piece = Array(bytes)
    let (waiter, flow) = state.withLock { state -> (Waiter?, BodyFlow) in
      if !state.waiters.isEmpty { return (state.waiters.removeFirst(), .more) }
      state.pieces.append(piece)
      return (nil, state.backlog.add(Backlog.size(ofPiece: piece.count)))
    }
    waiter?(.success(piece))
    return flow
  }

  func received(trailers: HTTPFields) { state.withLock { $0.trailers = trailers } }

  func end(_ outcome: OperationState.Outcome, of operation: DispatchOperation) {
    let error = outcome.error
    let (onHead, waiters) = state.withLock { state in
      state.end = error.map { .failure($0) } ?? .success(())
      state.times = outcome.times
      // Complete pieces that arrived before an error are still delivered, and then the error. A cancellation discards
      // them.
      if error?.code == .cancelled { state.pieces = [] }
      defer { state.waiters = [] }
      return (state.onHead.take(), state.waiters)
    }
    // A transport that ends without a head and without an error is faulty, but the caller still waits for a result.
    onHead?(.failure(error ?? DispatchError(.badResponse, phase: .awaitingHead, detail: "no head arrived")))
    for waiter in waiters { waiter(error.map { .failure($0) } ?? .success(nil)) }
    operation.core.operations.remove()
  }

  /// The time spent in each phase, once the transfer is over.
  var times: DispatchTimes? { state.withLock { $0.times } }

  /// The trailer fields.
  var trailers: HTTPFields { state.withLock { $0.trailers } }

  /// Calls `waiter` once, with the next piece, nil at the end, or the error. Returns whether the transport must be
  /// resumed.
  func next(_ waiter: @escaping Waiter) -> Bool {
    let (result, resumes) = state.withLock { state -> (Result<[UInt8]?, DispatchError>?, Bool) in
      if let piece = state.pieces.popFirst() {
        return (.success(piece), state.backlog.remove(Backlog.size(ofPiece: piece.count)))
      }
      if let end = state.end { return (end.map { nil }, false) }
      state.waiters.append(waiter)
      return (nil, false)
    }
    if let result { waiter(result) }
    return resumes
  }
}
