import HeadgateThreads

/// A concurrent map of callback functions under way, driven by the thread that takes the results: it pulls, starts and
/// takes in one loop, so that answers inside of starts need no stack.
final class CallbackMap<Output: Sendable, Failure: Error>: Sendable {
  typealias Call = CallbackCall<Output, Failure>

  /// Why there is no result of an element.
  enum Loss: Error {
    case failure(Failure)
    case missing(FlowErrorCode)
  }

  /// What the thread has to do next.
  enum Step {
    case pull
    case output(Output)
  }

  private struct State {
    var window: MapWindow<Output, Loss>
    /// What runs, by number.
    var calls: [Int: Call] = [:]
    var waiter: Waiter?
    /// An answer would have to be delivered by the very thread that waits.
    var isRefused = false
  }

  private let state: Locked<State>
  private let discard: (@Sendable (Output) -> Void)?
  private let duties = ThreadDuties.current
  private let begin = Deadline.now

  init(limit: Int, isOrdered: Bool, discard: (@Sendable (Output) -> Void)?) {
    state = Locked(State(window: MapWindow(limit: limit, isOrdered: isOrdered)))
    self.discard = discard
  }

  func error(
    _ code: FlowErrorCode, _ failure: Failure? = nil, _ index: Int = 0, underlying: (any Error)? = nil
  ) -> FlowError<Failure> {
    FlowError(
      code, failures: failure.map { [$0] } ?? [], inputs: failure == nil ? [] : [index],
      deciding: failure == nil ? nil : 0, operation: "mapConcurrently", waited: .now - begin, underlying: underlying)
  }

  // MARK: The thread that takes

  /// Waits for what the thread has to do next; nil: all was handed over.
  @available(*, noasync)
  func next(until deadline: Deadline) throws(FlowError<Failure>) -> Step? {
    while true {
      if ThreadRecord.current.isCancelled { throw error(.cancelled) }
      let waiter = Waiter.ofThread()
      let taken = state.withLock { state -> MapWindow<Output, Loss>.Taken? in
        if state.isRefused { return .failure(.wouldDeadlock, nil, index: 0, underlying: nil) }
        if state.window.mayPull { return nil }
        let taken = state.window.take()
        if case .wait = taken { state.waiter = waiter }
        return taken
      }
      switch taken {
      case nil:
        // Before the source is asked, which may be endless.
        guard deadline > .now else { throw error(.timedOut) }
        return .pull
      case .output(let output, _): return .output(output)
      case .failure(_, .failure(let failure), let index, _): throw error(.failed, failure, index)
      case .failure(_, .missing(let code), _, _): throw error(code)
      case .failure(let code, nil, _, _): throw error(code)
      case .end: return nil
      case .wait:
        switch waiter.wait(until: deadline) {
        case .woken, .pending: break
        case .timedOut: throw error(.timedOut)
        case .cancelled: throw error(.cancelled)
        }
      }
    }
  }

  /// An element was pulled; its transform is to be called with this.
  func start() -> Completion<Output, Failure> {
    let index = state.withLock { $0.window.pull() }
    let call = Call(duties: duties, discard: discard) { [self] end in
      ended(index, end)
      return true
    }
    state.withLock { $0.calls[index] = call }
    return Completion(call)
  }

  func endSource() { state.withLock { $0.window.endSource(nil) } }

  /// Ends it before its end: what runs is cancelled, and waited for or given up.
  @available(*, noasync)
  func end(_ code: FlowErrorCode, _ losers: Losers, until deadline: Deadline) {
    let (rest, running) = state.withLock { ($0.window.stop(), Array($0.calls.values)) }
    if let discard { for case .success(let output) in rest { discard(output) } }
    for call in running { call.cancel(code == .timedOut ? .timedOut : .cancelled) }
    // A thread that would have to deliver can't wait for that.
    if losers == .join, code != .timedOut, code != .wouldDeadlock { waitForRunning(until: deadline) }
    for call in state.withLock({ Array($0.calls.values) }) { call.giveUp() }
  }

  @available(*, noasync)
  private func waitForRunning(until deadline: Deadline) {
    while true {
      let waiter = Waiter.ofThread()
      let isOver = state.withLock { state in
        state.waiter = waiter
        return state.calls.isEmpty || state.isRefused
      }
      if isOver || waiter.wait(until: deadline, cancellable: false) != .woken { return }
    }
  }

  // MARK: The transforms

  private func ended(_ index: Int, _ end: CallEnd<Output, Failure>) {
    let result: Result<Output, Loss>
    var isRefusal = false
    switch end {
    case .success(let output): result = .success(output)
    case .failure(let failure): result = .failure(.failure(failure))
    case .missing(let code, _):
      result = .failure(.missing(code))
      isRefusal = code == .wouldDeadlock
    }
    let (leftover, waiter, _) = state.withLock { [isRefusal] state in
      if isRefusal { state.isRefused = true }
      return (state.window.end(index, result), state.waiter.take(), state.calls.removeValue(forKey: index))
    }
    if case .success(let output)? = leftover { discard?(output) }
    waiter?.end(.woken)
  }
}
