import CHeadgate

/// A named thread that runs one closure and can be joined, by any number of threads: the thin form of ``ManagedThread``
/// for this library's own use.
package final class WorkerThread: Sendable {
  private let done: Completion

  /// Starts the thread. Throws when the system refuses (`EAGAIN`).
  ///
  /// - Parameters:
  ///   - stackSize: In bytes; see ``ThreadAttributes/stackSize``.
  ///   - serves: Whether others wait for what it does, so that it must not wait for them itself.
  package init(
    name: String, stackSize: Int = 0, serves: Bool = false, _ body: @escaping @Sendable () -> Void
  ) throws(ThreadError) {
    let done = Completion()
    self.done = done
    let work = ThreadWork {
      body()
      done.set()
    }
    let attributes = ThreadAttributes(name: name, stackSize: stackSize, isDetached: true)
    try ThreadCore(attributes, serves: serves, work).start()
  }

  /// Whether the calling thread must not block: it serves others, or runs a task and is not one of ours, so that Swift's
  /// other tasks may need it.
  package static var mustNotBlock: Bool {
    switch Int(headgate_thread_role()) {
    case headgate_role_own: false
    case headgate_role_service: true
    default: withUnsafeCurrentTask { $0 != nil }
    }
  }

  /// Waits until the closure has returned. Must not be called by the thread itself.
  package func join() { done.wait() }
}

/// A latch that is set once and that any number of threads can wait for.
private final class Completion: Sendable {
  private struct State {
    var isSet = false
    var waiting: [Waiter] = []
  }

  private let state = Locked(State())

  func set() {
    let waiting = state.withLock { state in
      state.isSet = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiter in waiting { waiter.end(.woken) }
  }

  func wait() {
    let waiter = state.withLock { state -> Waiter? in
      if state.isSet { return nil }
      let waiter = Waiter.ofThread()
      state.waiting.append(waiter)
      return waiter
    }
    _ = waiter?.wait(until: .distantFuture, cancellable: false)
  }
}
