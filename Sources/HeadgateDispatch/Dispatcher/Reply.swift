import CHeadgate
import HeadgateThreads

/// A result on its way to the one task that waits for it. It may be there before the task is.
final class Reply<Value: Sendable>: Sendable {
  private enum State {
    case open
    case awaited(UnsafeContinuation<Value, Never>)
    case here(Value)
    case over
  }

  private let state = Locked(State.open)

  /// The result is there. From any thread; only the first counts.
  func put(_ value: Value) {
    let continuation = state.withLock { state -> UnsafeContinuation<Value, Never>? in
      switch state {
      case .open: state = .here(value)
      case .awaited(let continuation):
        state = .over
        return continuation
      case .here, .over: break
      }
      return nil
    }
    continuation?.resume(returning: value)
  }

  /// Suspends until the result is there. Called once.
  nonisolated(nonsending) func value() async -> Value {
    // Unchecked: `state` sees to it that it is resumed once. A check would cost an allocation.
    let value = await withUnsafeContinuation { continuation in
      let value = state.withLock { state -> Value? in
        guard case .here(let value) = state else {
          state = .awaited(continuation)
          return nil
        }
        state = .over
        return value
      }
      if let value { continuation.resume(returning: value) }
    }
    headgate_task_resumed()
    return value
  }
}
