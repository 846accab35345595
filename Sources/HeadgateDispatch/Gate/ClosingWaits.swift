import HeadgateThreads

/// Tasks that wait for a moment, and no longer than the gate or the dispatcher is open.
final class ClosingWaits: Sendable {
  private let state = Locked(State())

  private struct State {
    var waiters: [ObjectIdentifier: Waiter] = [:]
    var isClosed = false
  }

  /// One more waits. One that comes too late is woken at once.
  func enter(_ waiter: Waiter) {
    let isLate = state.withLock { state in
      if !state.isClosed { state.waiters[ObjectIdentifier(waiter)] = waiter }
      return state.isClosed
    }
    if isLate { waiter.end(.woken) }
  }

  func leave(_ waiter: Waiter) {
    // The caller's own reference keeps it beyond the lock.
    _ = state.withLock { $0.waiters.removeValue(forKey: ObjectIdentifier(waiter)) }
  }

  /// Wakes all, and whoever comes later.
  func close() {
    let waiters = state.withLock { state in
      state.isClosed = true
      defer { state.waiters = [:] }
      return state.waiters
    }
    for waiter in waiters.values { waiter.end(.woken) }
  }
}
