import HTTPTypes
import HeadgateThreads

/// Holds the pieces of a body between the transport and the one who reads them, and stops the transport, at the
/// socket, while they are many.
final class StreamingSink: ResponseSink {
  /// Where the transport is stopped, and where it goes on.
  static let highWater = 256 * 1024
  static let lowWater = 64 * 1024

  typealias Head = Result<(head: ResponseHead, url: String), DispatchError>
  typealias Waiter = @Sendable (Result<[UInt8]?, DispatchError>) -> Void

  private struct State {
    var pieces: [[UInt8]] = []
    // The pieces before this index were read: removing them one by one from the front would move all others.
    var firstPiece = 0
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

  func end(_ error: DispatchError?, _ times: DispatchTimes, told core: DispatchCore) {
    let (onHead, waiters) = state.withLock { state in
      state.end = error.map { .failure($0) } ?? .success(())
      state.times = times
      // What came whole before an error is still to be read; the error comes after it. A cancel wants nothing more.
      if error?.code == .cancelled { state.pieces = [] }
      defer { state.waiters = [] }
      return (state.onHead.take(), state.waiters)
    }
    // A transport that ends well without a head is at fault, and its caller waits for one.
    onHead?(.failure(error ?? DispatchError(.badResponse, phase: .awaitingHead, detail: "no head came")))
    for waiter in waiters { waiter(error.map { .failure($0) } ?? .success(nil)) }
    core.operations.remove()
  }

  /// What took how long, once the transfer is over.
  var times: DispatchTimes? { state.withLock { $0.times } }

  /// What came after the body.
  var trailers: HTTPFields { state.withLock { $0.trailers } }

  /// Calls `waiter` once, with the next piece, the end (nil) or the error. Returns whether the transport is to go on.
  func next(_ waiter: @escaping Waiter) -> Bool {
    let (result, resumes) = state.withLock { state -> (Result<[UInt8]?, DispatchError>?, Bool) in
      if state.firstPiece < state.pieces.count {
        let piece = state.pieces[state.firstPiece]
        state.pieces[state.firstPiece] = []
        state.firstPiece += 1
        state.bytes -= piece.count
        if state.firstPiece * 2 >= state.pieces.count {
          state.pieces.removeFirst(state.firstPiece)
          state.firstPiece = 0
        }
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
