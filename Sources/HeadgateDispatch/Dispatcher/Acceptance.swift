import HeadgateThreads

/// The moment when a request has its place in the queue and its caller, held because too many wait, may go on.
final class Acceptance: Sendable {
  private struct State {
    var isAccepted = false
    var waiter: (@Sendable () -> Void)?
  }

  private let state = Locked(State())

  func signal() {
    let waiter = state.withLock { state in
      state.isAccepted = true
      return state.waiter.take()
    }
    waiter?()
  }

  /// Suspends until it is signalled.
  func wait() async {
    await withContinuation { continuation in
      wait { continuation.resume() }
    }
  }

  /// Blocks until it is signalled.
  func waitBlocking() {
    let parker = Parker()
    wait { parker.unpark() }
    while !parker.park() {}
  }

  private func wait(_ waiter: @escaping @Sendable () -> Void) {
    let isAccepted = state.withLock { state in
      if !state.isAccepted { state.waiter = waiter }
      return state.isAccepted
    }
    if isAccepted { waiter() }
  }
}
