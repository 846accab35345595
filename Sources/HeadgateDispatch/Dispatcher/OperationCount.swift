import HeadgateThreads

/// Counts the operations of one dispatcher whose callers have not been told of their end, and knows whether its transport
/// is closed: when a dispatcher that closes has nothing left, its transport is closed, and then it has ended.
final class OperationCount: Sendable {
  private struct State {
    var count = 0
    var isClosed = false
    var transportHasEnded = false
    // Closes the transport: for a dispatcher whose gate goes on without it.
    var closeTransport: (@Sendable () -> Void)?

    /// What is to be done if nothing is left. Each comes once, though several calls may find the end.
    mutating func next() -> Step? {
      guard isClosed || transportHasEnded, count == 0 else { return nil }
      if isClosed, let close = closeTransport.take() { return .closeTransport(close) }
      return transportHasEnded ? .end : nil
    }
  }

  private enum Step {
    case closeTransport(@Sendable () -> Void)
    case end
  }

  private let state = Locked(State())
  /// The end: nothing is left, and the transport is closed.
  let ended = Drain()

  /// One operation more. One that was added before it read `isClosed` as false keeps the transport open.
  func add() { state.withLock { $0.count += 1 } }

  /// The caller of an operation was told.
  func remove() { change { $0.count -= 1 } }

  /// Whether there are others beside those that the caller counts as its own.
  func hasOthers(beside own: Int) -> Bool { state.withLock { $0.count > own } }

  /// What closes the transport once the last operation has ended. A dispatcher that owns its gate has the gate do so.
  func whenLast(_ closeTransport: @escaping @Sendable () -> Void) {
    state.withLock { $0.closeTransport = closeTransport }
  }

  /// The transport has closed.
  func transportEnded() { change { $0.transportHasEnded = true } }

  /// Whether the dispatcher takes nothing new, whatever its gate does: one that shares the gate ends by itself.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// No more is taken. Once all operations have ended the transport is closed.
  func close() { change { $0.isClosed = true } }

  private func change(_ event: (inout State) -> Void) {
    let step = state.withLock { state in
      event(&state)
      return state.next()
    }
    switch step {
    case .closeTransport(let close): close()
    case .end: ended.finish()
    case nil: break
    }
  }
}
