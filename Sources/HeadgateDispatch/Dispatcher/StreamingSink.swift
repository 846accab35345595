import DequeModule
import HTTPTypes
import HeadgateThreads

/// Buffers body pieces between the transport and the reader. Pauses the transport's reading of the socket while the
/// buffer is full.
final class StreamingSink: ResponseSink {
  /// Bytes in the buffer: the transport pauses at the high mark and resumes at the low one.
  static let highWater = 256 * 1024
  static let lowWater = 64 * 1024

  typealias Head = Result<(head: ResponseHead, url: String), DispatchError>
  typealias Waiter = @Sendable (Result<[UInt8]?, DispatchError>) -> Void

  private struct State {
    var pieces: Deque<[UInt8]> = []
    var bytes = 0
    var isStopped = false
    var end: Result<Void, DispatchError>?
    var times: DispatchTimes?
    var trailers: HTTPFields = [:]
    var waiters: [Waiter] = []
    var onHead: (@Sendable (Head) -> Void)?
  }

  private let state: Locked<State>

  init(onHead: @escaping @Sendable (Head) -> Void) {
    self.state = Locked(State(onHead: onHead))
  }

  var mayPause: Bool { true }

  func received(_ head: ResponseHead, url: String) throws(DispatchError) -> BodyFlow {
    let onHead = state.withLock { $0.onHead.take() }
    onHead?(.success((head, url)))
    return .more
  }

  func received(_ bytes: UnsafeRawBufferPointer) throws(DispatchError) -> BodyFlow {
    guard !bytes.isEmpty else { return .more }
    let piece = Array(bytes)
    let (waiter, isStopped) = state.withLock { state -> (Waiter?, Bool) in
      if !state.waiters.isEmpty { return (state.waiters.removeFirst(), false) }
      state.pieces.append(piece)
      state.bytes += piece.count
      state.isStopped = state.bytes >= Self.highWater
      return (nil, state.isStopped)
    }
    waiter?(.success(piece))
    return isStopped ? .pause : .more
  }

  func received(trailers: HTTPFields) { state.withLock { $0.trailers = trailers } }

  func end(_ error: DispatchError?, _ times: DispatchTimes, _ weight: SentWeight?, told core: DispatchCore) {
    let (onHead, waiters) = state.withLock { state in
      state.end = error.map { .failure($0) } ?? .success(())
      state.times = times
      // Complete pieces that arrived before an error are still delivered, and then the error. A cancellation discards
      // them.
      if error?.code == .cancelled { state.pieces = [] }
      defer { state.waiters = [] }
      return (state.onHead.take(), state.waiters)
    }
    // A transport that ends without a head and without an error is faulty, but the caller still waits for a result.
    onHead?(.failure(error ?? DispatchError(.badResponse, phase: .awaitingHead, detail: "no head arrived")))
    for waiter in waiters { waiter(error.map { .failure($0) } ?? .success(nil)) }
    core.operations.remove()
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
        state.bytes -= piece.count
        let resumes = state.isStopped && state.bytes <= Self.lowWater
        if resumes { state.isStopped = false }
        return (.success(piece), resumes)
      }
      if let end = state.end { return (end.map { nil }, false) }
      state.waiters.append(waiter)
      return (nil, false)
    }
    if let result { waiter(result) }
    return resumes
  }
}
