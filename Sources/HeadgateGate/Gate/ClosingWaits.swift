import HeadgateThreads

/// Tasks that wait for a point in time, or until the gate or the dispatcher closes.
package final class ClosingWaits: Sendable {
  // Nil once it is closed.
  private let waiters = Locked<[ObjectIdentifier: Waiter]?>([:])

  package init() {}

  /// Registers a waiter. Wakes it at once if the wait is already closed.
  package func enter(_ waiter: Waiter) {
    let isLate = waiters.withLock { waiters in
      waiters?[ObjectIdentifier(waiter)] = waiter
      return waiters == nil
    }
    if isLate { waiter.end(.woken) }
  }

  package func leave(_ waiter: Waiter) {
    // The caller's own reference keeps the waiter alive, so no deinit runs under the lock.
    _ = waiters.withLock { $0?.removeValue(forKey: ObjectIdentifier(waiter)) }
  }

  /// Wakes all waiters, and every later one.
  package func close() {
    let waiters = waiters.withLock { $0.take() }
    for waiter in (waiters ?? [:]).values { waiter.end(.woken) }
  }
}
