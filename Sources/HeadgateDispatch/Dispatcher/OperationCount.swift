import HeadgateThreads

/// Counts a dispatcher's operations until their callers have received the result. When a closing dispatcher has none
/// left, its transport is closed; after that the dispatcher has ended.
final class OperationCount: Sendable {
  private struct State {
    var count = 0
    var isClosed = false
    var transportHasEnded = false
    // Closes the transport. Set for a dispatcher whose gate outlives it.
    var closeTransport: (@Sendable () -> Void)?

    /// The next shutdown step, if no operations are left. The transport is closed once, even if several calls reach
    /// this.
    mutating func next(_ ended: OneShot<Void>) -> (@Sendable () -> Void)? {
      guard isClosed || transportHasEnded, count == 0 else { return nil }
      if isClosed, let close = closeTransport.take() { return close }
      return transportHasEnded ? { @Sendable in ended.set() } : nil
    }
  }

  private let state = Locked(State())
  /// Set at the end: no operations are left and the transport is closed.
  let ended = OneShot<Void>()

  /// Counts a new operation. An operation that is added before it reads `isClosed` as false keeps the transport open.
  func add() { state.withLock { $0.count += 1 } }

  /// An operation's caller has received the result.
  func remove() { change { $0.count -= 1 } }

  /// Whether there are more operations than the caller's own.
  func hasOthers(beside own: Int) -> Bool { state.withLock { $0.count > own } }

  /// Sets the closure that closes the transport after the last operation. If the dispatcher owns its gate, the gate
  /// closes the transport instead.
  func whenLast(_ closeTransport: @escaping @Sendable () -> Void) {
    state.withLock { $0.closeTransport = closeTransport }
  }

  /// The transport has closed.
  func transportEnded() { change { $0.transportHasEnded = true } }

  /// Whether the dispatcher rejects new requests. Independent of the gate: a dispatcher that shares a gate shuts down
  /// on its own.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Rejects new requests. The transport is closed when all operations have ended.
  func close() { change { $0.isClosed = true } }

  private func change(_ event: (inout State) -> Void) {
    let step = state.withLock { state in
      event(&state)
      return state.next(ended)
    }
    step?()
  }
}
