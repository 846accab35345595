import HeadgateThreads

/// Counts work in progress, and lets a caller wait for its end.
final class PendingCount: Sendable {
  private let state = Locked((count: 0, waiter: CheckedContinuation<Void, Never>?.none))

  func enter() { state.withLock { $0.count += 1 } }

  func leave(_ count: Int = 1) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.count -= count
      return state.count == 0 ? state.waiter.take() : nil
    }
    waiter?.resume()
  }

  /// Suspends until nothing is in progress. For a single caller, after the last `enter`.
  func empty() async {
    await withContinuation { continuation in
      let isEmpty = state.withLock { state in
        if state.count > 0 { state.waiter = continuation }
        return state.count == 0
      }
      if isEmpty { continuation.resume() }
    }
  }
}
