import HeadgateFlow
import HeadgateThreads

/// Functions controlled by a test, by number: callback functions and async ones.
final class Hand<Success: Sendable>: Sendable {
  private struct State {
    var completions: [Int: Completion<Success>] = [:]
    var continuations: [Int: CheckedContinuation<Result<Success, Oops>, Never>] = [:]
    var early: Set<Int> = []
    // Async functions that have begun, and ends for those that have not, since they may begin in any order.
    var begun: Set<Int> = []
    var ends: [Int: Result<Success, Oops>] = [:]
  }

  private let state = Locked(State())
  /// The numbers of started functions, and of those told to end.
  let started = Record<Int>()
  let cancelled = Record<Int>()
  /// Async functions that have ended.
  let ended = Record<Int>()

  // MARK: Callback functions

  /// Keeps its completion until the test answers. `heeds`: fails with `Oops.cancelled` when it is cancelled. Its hook
  /// throws on request.
  func function(_ number: Int, heeds: Bool = false, hookThrows: Bool = false) -> CallbackFunction<Success> {
    { completion in
      completion.onCancel {
        self.cancelled.add(number)
        if heeds { self.fail(number, .cancelled) }
        if hookThrows { throw Oops(number: number) }
      }
      self.state.withLock { $0.completions[number] = completion }
      self.started.add(number)
    }
  }

  /// A callback function as an async one.
  func awaited(
    _ number: Int, heeds: Bool = false, hookThrows: Bool = false, losers: Losers = .abandon
  ) -> @Sendable () async throws -> Success {
    let function = function(number, heeds: heeds, hookThrows: hookThrows)
    return { try await awaitCallback(losers: losers, function) }
  }

  private func take(_ number: Int) -> Completion<Success>? {
    state.withLock { $0.completions.removeValue(forKey: number) }
  }

  /// Returns false if it has already answered.
  @discardableResult
  func succeed(_ number: Int, _ value: Success) -> Bool {
    guard let completion = take(number) else { return false }
    completion.succeed(value)
    return true
  }

  func fail(_ number: Int, _ failure: Oops? = nil) { take(number)?.fail(failure ?? Oops(number: number)) }

  /// Releases the completion.
  func drop(_ number: Int) { _ = take(number) }

  // MARK: Async functions

  /// Suspends until the test ends it. `heeds`: throws `Oops.cancelled` when it is cancelled.
  func async(_ number: Int, heeds: Bool = true) -> @Sendable () async throws -> Success {
    { () async throws in
      let result = await withTaskCancellationHandler {
        await withContinuation { continuation in
          let end = self.state.withLock { state -> Result<Success, Oops>? in
            state.begun.insert(number)
            if let end = state.ends.removeValue(forKey: number) { return end }
            if heeds, state.early.contains(number) { return .failure(.cancelled) }
            state.continuations[number] = continuation
            return nil
          }
          self.started.add(number)
          if let end { continuation.resume(returning: end) }
        }
      } onCancel: {
        self.cancelled.add(number)
        guard heeds else { return }
        let continuation = self.state.withLock { state in
          state.early.insert(number)
          return state.continuations.removeValue(forKey: number)
        }
        continuation?.resume(returning: .failure(.cancelled))
      }
      self.ended.add(number)
      return try result.get()
    }
  }

  func asyncs(_ count: Int, heeds: Bool = true) -> [@Sendable () async throws -> Success] {
    (0..<count).map { async($0, heeds: heeds) }
  }

  /// Ends it, now or as soon as it begins. Returns false if it has already ended.
  @discardableResult
  func end(_ number: Int, _ result: Result<Success, Oops>) -> Bool {
    let (continuation, isEarly) = state.withLock { state in
      let isEarly = !state.begun.contains(number)
      if isEarly { state.ends[number] = result }
      return (state.continuations.removeValue(forKey: number), isEarly)
    }
    continuation?.resume(returning: result)
    return isEarly || continuation != nil
  }
}
