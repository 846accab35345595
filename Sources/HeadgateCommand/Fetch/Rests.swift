import HeadgateThreads

/// The waits before retries that the run makes itself. When the run stops, all of them end, and none begins.
final class Rests: Sendable {
  private struct State {
    var isOver = false
    var last = 0
    var resting: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Locked(State())

  /// Returns after this time, or as soon as the run stops.
  func rest(for time: Duration) async {
    await withContinuation { (continuation: CheckedContinuation<Void, Never>) in
      guard let number = begin(continuation) else { return continuation.resume() }
      _ = TimerThread.shared.schedule(at: .after(time)) { [self] in
        state.withLock { $0.resting.removeValue(forKey: number) }?.resume()
      }
    }
  }

  /// Ends all waits, for good.
  func end() {
    let resting = state.withLock { state in
      defer { (state.isOver, state.resting) = (true, [:]) }
      return state.resting
    }
    for continuation in resting.values { continuation.resume() }
  }

  /// Nil if there are no more waits.
  private func begin(_ continuation: CheckedContinuation<Void, Never>) -> Int? {
    state.withLock { state in
      guard !state.isOver else { return nil }
      state.last += 1
      state.resting[state.last] = continuation
      return state.last
    }
  }
}
