import HeadgateThreads

/// A door that a test opens: those who wait at it go on, and so does everyone who comes later.
///
/// Draw an interleaving with one gate a step, and wait for what happens instead of for time to pass.
public final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiters: [@Sendable () -> Void] = []
  }

  private let state = Locked(State())

  /// A closed gate.
  public init() {}

  /// Whether it was opened.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Opens it, for good. From any thread; a second call does nothing.
  public func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter() }
  }

  /// Suspends until it is open.
  public func wait() async {
    await withContinuation { continuation in
      whenOpen { continuation.resume() }
    }
  }

  /// Blocks the thread until it is open, or until the deadline. True if it is open.
  @available(*, noasync)
  public func wait(until deadline: Deadline) -> Bool {
    let parker = Parker()
    whenOpen { parker.unpark() }
    return parker.park(until: deadline) || isOpen
  }

  private func whenOpen(_ waiter: @escaping @Sendable () -> Void) {
    let isOpen = state.withLock { state in
      if !state.isOpen { state.waiters.append(waiter) }
      return state.isOpen
    }
    if isOpen { waiter() }
  }
}
