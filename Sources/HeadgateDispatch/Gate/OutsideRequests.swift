import HeadgateThreads

/// The requests that belong to a gate's dispatchers and are not in the gate: those between two attempts, and those that
/// interceptors process. A shutdown and `cancelAll` look here as well as in the gate.
final class OutsideRequests: Sendable {
  private struct State {
    var operations: [ObjectIdentifier: (operation: DispatchOperation, number: UInt64)] = [:]
    var lastNumber: UInt64 = 0
  }

  private let state = Locked(State())

  /// Adds a request that is about to leave the gate, or to which interceptors have not returned yet.
  func add(_ operation: DispatchOperation) {
    state.withLock { state in
      state.lastNumber += 1
      state.operations[ObjectIdentifier(operation)] = (operation, state.lastNumber)
    }
  }

  func remove(_ operation: DispatchOperation) {
    // The result is discarded under the lock, which is safe: the caller holds a reference, so no deinit runs here.
    _ = state.withLock { $0.operations.removeValue(forKey: ObjectIdentifier(operation)) }
  }

  /// Calls `body`, which brings a request back to the gate. It is removed here afterwards, so that a search finds it in
  /// one of the two places. By then it may have left the gate again; that registration is kept.
  func returning(_ operation: DispatchOperation, _ body: () -> DispatchError?) -> DispatchError? {
    let id = ObjectIdentifier(operation)
    let number = state.withLock { $0.operations[id]?.number }
    defer {
      state.withLock { state in
        if state.operations[id]?.number == number { state.operations[id] = nil }
      }
    }
    return body()
  }

  /// The requests, and the number of the last one that was added.
  var all: (operations: [DispatchOperation], number: UInt64) {
    state.withLock { ($0.operations.values.map(\.operation), $0.lastNumber) }
  }

  /// The number of the last request that was added. Numbers only grow.
  var lastNumber: UInt64 { state.withLock { $0.lastNumber } }

  var isEmpty: Bool { state.withLock { $0.operations.isEmpty } }
}
