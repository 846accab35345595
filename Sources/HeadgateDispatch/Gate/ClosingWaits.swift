import HeadgateThreads

/// Tasks that wait for a point in time, or until the gate or the dispatcher closes.
final class ClosingWaits: Sendable {
  private let state = Locked(State())

  private struct State {
    var waiters: [ObjectIdentifier: Waiter] = [:]
    var isClosed = false
  }

  /// Registers a waiter. Wakes it at once if the wait is already closed.
  func enter(_ waiter: Waiter) {
    let isLate = state.withLock { state in
      if !state.isClosed { state.waiters[ObjectIdentifier(waiter)] = waiter }
      return state.isClosed
    }
    if isLate { waiter.end(.woken) }
  }

  func leave(_ waiter: Waiter) {
    // The caller's own reference keeps the waiter alive, so no deinit runs under the lock.
    _ = state.withLock { $0.waiters.removeValue(forKey: ObjectIdentifier(waiter)) }
  }

  /// Wakes all waiters, and every later one.
  func close() {
    let waiters = state.withLock { state in
      state.isClosed = true
      defer { state.waiters = [:] }
      return state.waiters
    }
    for waiter in waiters.values { waiter.end(.woken) }
  }
}
