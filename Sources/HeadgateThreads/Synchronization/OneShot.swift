/// A value that is set once. Threads and tasks can wait for it, and callbacks are called with it, before or after it is
/// set.
///
/// Only the value ends a wait, even if the thread or task is cancelled. Use it only for a value that is certain to be
/// set.
package final class OneShot<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var listeners: [@Sendable (Value) -> Void] = []
  }

  private let state = Locked(State())

  package init() {}

  /// The value, or nil if it is not set yet.
  package var value: Value? { state.withLock { $0.value } }

  /// Sets the value. Returns false, without effect, if it is set already.
  @discardableResult
  package func set(_ value: Value) -> Bool {
    let listeners = state.withLock { state -> [@Sendable (Value) -> Void]? in
      guard state.value == nil else { return nil }
      state.value = value
      defer { state.listeners = [] }
      return state.listeners
    }
    for listener in listeners ?? [] { listener(value) }
    return listeners != nil
  }

  /// Calls `listener` with the value: on the thread that sets it, or on the calling thread if it is set already.
  package func whenSet(_ listener: @escaping @Sendable (Value) -> Void) {
    let value = state.withLock { state in
      if state.value == nil { state.listeners.append(listener) }
      return state.value
    }
    if let value { listener(value) }
  }

  /// Suspends the task until the value is set.
  nonisolated(nonsending) package func wait() async -> Value {
    await withContinuation { continuation in
      whenSet { continuation.resume(returning: $0) }
    }
  }

  /// Blocks the thread until the value is set.
  @available(*, noasync)
  package func wait() -> Value {
    while true {
      if let value = wait(until: .distantFuture) { return value }
    }
  }

  /// Blocks the thread until the value is set. Returns nil if the deadline passes first.
  @available(*, noasync)
  package func wait(until deadline: Deadline) -> Value? {
    if let value { return value }
    let waiter = Waiter.ofThread()
    whenSet { _ in waiter.end(.woken) }
    _ = waiter.wait(until: deadline, cancellable: false)
    return value
  }
}

extension OneShot where Value == Void {
  /// Marks the event as having happened.
  package func set() { set(()) }
}
