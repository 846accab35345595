import HeadgateThreads

/// Lets numbered tasks write one after another, in the order of their numbers, and suspends tasks that are too far
/// ahead.
final class Turns: Sendable {
  private struct State {
    var turn = 0
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var entry: (number: Int, continuation: CheckedContinuation<Void, Never>)?
  }

  private let window: Int
  private let state = Locked(State())

  /// - Parameter window: How many tasks may be in progress, including those that finished early.
  init(window: Int) { self.window = window }

  /// Whether it is this number's turn.
  func has(_ number: Int) -> Bool { state.withLock { $0.turn == number } }

  /// Suspends until it is this number's turn.
  func wait(for number: Int) async {
    await withContinuation { continuation in
      let isNow = state.withLock { state in
        if state.turn != number { state.waiters[number] = continuation }
        return state.turn == number
      }
      if isNow { continuation.resume() }
    }
  }

  /// Suspends until this number is inside the window. One caller at a time.
  func enter(_ number: Int) async {
    await withContinuation { continuation in
      let isNow = state.withLock { state in
        let isInside = number < state.turn + window
        if !isInside { state.entry = (number, continuation) }
        return isInside
      }
      if isNow { continuation.resume() }
    }
  }

  /// Ends the current turn and begins that of the next number.
  func pass() {
    let (next, entry) = state.withLock { state in
      state.turn += 1
      var entry: CheckedContinuation<Void, Never>?
      if let waiting = state.entry, waiting.number < state.turn + window {
        entry = waiting.continuation
        state.entry = nil
      }
      return (state.waiters.removeValue(forKey: state.turn), entry)
    }
    next?.resume()
    entry?.resume()
  }
}
