import HeadgateThreads

/// The starts of later attempts: each is made once, by its timer or because an earlier attempt has failed.
final class HedgeStarts: Sendable {
  private struct Start: Sendable {
    let make: @Sendable () -> Void
  }

  private struct State {
    var starts: [Int: Start] = [:]
    // Failures, and moments, that came before there was a start to bring on.
    var early = 0
    var opened: Set<Int> = []
  }

  private let state = Locked(State())

  /// Has `start` called when its turn comes.
  func call(at index: Int, _ start: @escaping @Sendable () -> Void) {
    let isDue = state.withLock { state in
      if state.opened.contains(index) { return true }
      if state.early > 0 {
        state.early -= 1
        return true
      }
      state.starts[index] = Start(make: start)
      return false
    }
    if isDue { start() }
  }

  /// The turn of one has come, if it was not made before.
  func open(_ index: Int) {
    let start = state.withLock { state -> Start? in
      state.opened.insert(index)
      return state.starts.removeValue(forKey: index)
    }
    start?.make()
  }

  /// The turn of the first that waits has come.
  func openNext() {
    let start = state.withLock { state -> Start? in
      guard let index = state.starts.keys.min() else {
        state.early += 1
        return nil
      }
      return state.starts.removeValue(forKey: index)
    }
    start?.make()
  }

  /// It is not needed any more.
  func drop(_ index: Int) {
    let start = state.withLock { $0.starts.removeValue(forKey: index) }
    _ = consume start
  }
}
