import HeadgateThreads

/// A concurrent map under way: one task pulls from the source and starts a child for each element, another takes the
/// results. The puller waits while so much is running or waits to be taken as the limit says.
final class ConcurrentMap<Output: Sendable, Failure: Error>: Sendable {
  typealias Window = MapWindow<Output, Failure>

  private struct State {
    var window: Window
    var puller: Waiter?
    var taker: Waiter?
    /// The pulling task is under way, and whether nobody waits for it any more.
    var isPulling = true
    var isAbandoned = false
  }

  private let state: Locked<State>
  private let discard: (@Sendable (Output) -> Void)?
  private let start = Deadline.now

  init(limit: Int, isOrdered: Bool, discard: (@Sendable (Output) -> Void)?) {
    state = Locked(State(window: Window(limit: limit, isOrdered: isOrdered)))
    self.discard = discard
  }

  // MARK: The side of the source

  /// Pulls all elements and transforms them in child tasks; ends when all of them have ended. In a task of its own, which
  /// is cancelled to end it before.
  func pull<Base: AsyncSequence>(
    _ base: Base, _ transform: @escaping @Sendable (Base.Element) async throws(Failure) -> Output
  ) async where Base.Element: Sendable {
    await withDiscardingTaskGroup { group in
      var iterator = base.makeAsyncIterator()
      while await mayPull() {
        do {
          guard let element = try await iterator.next() else {
            endSource(nil)
            break
          }
          let index = state.withLock { $0.window.pull() }
          group.addTask {
            do throws(Failure) {
              self.end(index, .success(try await transform(element)))
            } catch {
              self.end(index, .failure(error))
            }
          }
        } catch {
          endSource(error)
          break
        }
      }
    }
    let wasAbandoned = state.withLock { state in
      state.isPulling = false
      return state.isAbandoned
    }
    if wasAbandoned { AbandonedCount.process.end() }
  }

  /// Suspends until another element may be pulled. False: none is needed any more.
  private func mayPull() async -> Bool {
    while !Task.isCancelled {
      let waiter = Waiter.ofTask()
      let answer = state.withLock { state -> Bool? in
        if state.window.mayPull { return true }
        if state.window.needsNoPull { return false }
        state.puller = waiter
        return nil
      }
      if let answer { return answer }
      _ = await waiter.wait(until: .distantFuture)
    }
    return false
  }

  private func endSource(_ error: (any Error)?) {
    event { $0.window.endSource(error) }
  }

  private func end(_ index: Int, _ result: Result<Output, Failure>) {
    var leftover: Result<Output, Failure>?
    event { leftover = $0.window.end(index, result) }
    if case .success(let output)? = leftover { discard?(output) }
  }

  /// Takes in an event, and wakes whom it may concern.
  private func event(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state in
      change(&state)
      return (state.puller.take(), state.taker.take())
    }
    waiters.0?.end(.woken)
    waiters.1?.end(.woken)
  }

  // MARK: The side of the results

  /// The next result and the number of its element; nil after the last, and after an error.
  nonisolated(nonsending) func next(_ operation: String) async throws(FlowError<Failure>) -> (
    index: Int, output: Output
  )? {
    while true {
      let waiter = Waiter.ofTask()
      let (taken, puller) = state.withLock { state -> (Window.Taken, Waiter?) in
        let taken = state.window.take()
        if case .wait = taken {
          state.taker = waiter
          return (taken, nil)
        }
        return (taken, state.puller.take())
      }
      puller?.end(.woken)
      switch taken {
      case .output(let output, let index): return (index, output)
      case .end: return nil
      case .failure(let code, let failure, let index, let underlying):
        throw FlowError(
          code, failures: failure.map { [$0] } ?? [], inputs: failure == nil ? [] : [index],
          deciding: failure == nil ? nil : 0, operation: operation, waited: .now - start, underlying: underlying)
      case .wait:
        guard await waiter.wait(until: .distantFuture) == .cancelled else { continue }
        stop()
        throw FlowError(.cancelled, operation: operation, waited: .now - start)
      }
    }
  }

  /// Nobody takes anything any more.
  func stop() {
    var rest: [Result<Output, Failure>] = []
    event { rest = $0.window.stop() }
    for case .success(let output) in rest { discard?(output) }
  }

  /// Nobody waits for the pulling task either: it counts as abandoned until it has ended.
  func abandon() {
    stop()
    let isRunning = state.withLock { state in
      guard state.isPulling, !state.isAbandoned else { return false }
      state.isAbandoned = true
      return true
    }
    if isRunning { AbandonedCount.process.begin() }
  }
}
