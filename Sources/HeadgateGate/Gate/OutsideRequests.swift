import HeadgateThreads

/// The requests that belong to a gate's dispatchers and are not in the gate: those between two attempts, and those that
/// interceptors process. A shutdown and `cancelAll` look here as well as in the gate.
package final class OutsideRequests: Sendable {
  private struct State {
    var clients: [ObjectIdentifier: (client: any GateClient, number: UInt64)] = [:]
    var lastNumber: UInt64 = 0
  }

  private let state = Locked(State())

  /// Adds a request that is about to leave the gate, or to which interceptors have not returned yet.
  package func add(_ client: any GateClient) {
    state.withLock { state in
      state.lastNumber += 1
      state.clients[ObjectIdentifier(client)] = (client, state.lastNumber)
    }
  }

  package func remove(_ client: any GateClient) {
    // The result is discarded under the lock, which is safe: the caller holds a reference, so no deinit runs here.
    _ = state.withLock { $0.clients.removeValue(forKey: ObjectIdentifier(client)) }
  }

  /// Calls `body`, which brings a request back to the gate. It is removed here afterwards, so that a search finds it in
  /// one of the two places. By then it may have left the gate again; that registration is kept.
  package func returning(_ client: any GateClient, _ body: () -> DispatchError?) -> DispatchError? {
    let id = ObjectIdentifier(client)
    let number = state.withLock { $0.clients[id]?.number }
    defer {
      state.withLock { state in
        if state.clients[id]?.number == number { state.clients[id] = nil }
      }
    }
    return body()
  }

  /// The requests, and the number of the last one that was added.
  package var all: (clients: [any GateClient], number: UInt64) {
    state.withLock { ($0.clients.values.map(\.client), $0.lastNumber) }
  }

  /// The number of the last request that was added. Numbers only grow.
  var lastNumber: UInt64 { state.withLock { $0.lastNumber } }

  var isEmpty: Bool { state.withLock { $0.clients.isEmpty } }
}
