#if AsyncHTTPClient
import HeadgateThreads

/// Something that happens once, and one task that waits for it.
final class Signal: Sendable {
  private struct State {
    var isSent = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Locked(State())

  /// It has happened; again does nothing.
  func send() {
    let waiting = state.withLock { state in
      state.isSent = true
      return state.waiting.take()
    }
    waiting?.resume()
  }

  /// Suspends until it has happened.
  func wait() async {
    await withContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let isSent = state.withLock { state in
        if !state.isSent { state.waiting = continuation }
        return state.isSent
      }
      if isSent { continuation.resume() }
    }
  }
}
#endif
