import CHeadgate
import HeadgateThreads

/// Passes one result to the one task that waits for it. The result may arrive first.
///
/// Inlinable, because otherwise it is not specialized in the dispatcher's module, which a request of a task would pay
/// for.
@usableFromInline
package final class Reply<Value: Sendable>: Sendable {
  @usableFromInline
  enum State {
    case open
    case awaited(UnsafeContinuation<Void, Never>)
    case here(Result<Value, DispatchError>)
  }

  @usableFromInline let state = Locked(State.open)

  @inlinable
  package init() {}

  /// Stores the result. Thread-safe; only the first call counts.
  @inlinable
  package func put(_ result: Result<Value, DispatchError>) {
    let continuation = state.withLock { state -> UnsafeContinuation<Void, Never>? in
      if case .here = state { return nil }
      defer { state = .here(result) }
      if case .awaited(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume()
  }

  /// Suspends until there is a result. Called once.
  @inlinable
  nonisolated(nonsending) package func wait() async {
    // Unchecked: `state` guarantees a single resume. A checked continuation costs an allocation.
    await withUnsafeContinuation { continuation in
      let isHere = state.withLock { state in
        if case .here = state { return true }
        state = .awaited(continuation)
        return false
      }
      if isHere { continuation.resume() }
    }
    headgate_task_resumed()
  }

  /// The result, after `wait`.
  ///
  /// A separate function that is never inlined, and not the return value of `wait`: every copy of the result inside
  /// an async function takes memory in the task's frame while it is suspended. That was 1,600 bytes for each waiting
  /// request.
  @inlinable @inline(never)
  package func get() throws(DispatchError) -> Value {
    let result = state.withLock { state -> Result<Value, DispatchError>? in
      if case .here(let result) = state { result } else { nil }
    }
    guard let result else { throw DispatchError(.cancelled) }
    return try result.get()
  }
}
