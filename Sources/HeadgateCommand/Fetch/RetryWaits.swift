import HeadgateThreads

/// The waits before retries that the run makes itself. When the run stops, all of them end, and none begins.
final class RetryWaits: Sendable {
  private struct State {
    var isOver = false
    var last = 0
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Locked(State())

  /// Returns after this time, or as soon as the run stops.
  func wait(for time: Duration) async {
    await withContinuation { (continuation: CheckedContinuation<Void, Never>) in
      guard let number = begin(continuation) else { return continuation.resume() }
      _ = TimerThread.shared.schedule(at: .after(time)) { [self] in
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
      }
    }
  }

  /// Ends all waits, for good.
  func end() {
    let waiting = state.withLock { state in
      defer { (state.isOver, state.waiting) = (true, [:]) }
      return state.waiting
    }
    for continuation in waiting.values { continuation.resume() }
  }

  /// Nil if there are no more waits.
  private func begin(_ continuation: CheckedContinuation<Void, Never>) -> Int? {
    state.withLock { state in
      guard !state.isOver else { return nil }
      state.last += 1
      state.waiting[state.last] = continuation
      return state.last
    }
  }
}
