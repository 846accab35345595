import HeadgateThreads

/// Requests permits over a link, and does what the policy says while the coordinator can't be reached.
package final class OutageHandler: Sendable {
  private struct State {
    var waiting: [UInt64: OutageWait] = [:]
    var lastNumber: UInt64 = 0
    /// How often the coordinator has come back.
    var returns: UInt64 = 0
  }

  private let link: any CoordinatorLink
  private let policy: OutagePolicy
  private let timers: any TimerService
  /// Grants permits during an outage. With the policy `failClosed` it is not used.
  private let local: LocalCoordinator
  private let state = Locked(State())

  package init(_ link: any CoordinatorLink, _ policy: OutagePolicy, timers: any TimerService = TimerThread.requests) {
    (self.link, self.policy, self.timers) = (link, policy, timers)
    local = LocalCoordinator(timers: timers)
    link.whenBack { [weak self] in self?.isBack() }
  }

  package func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    let wait = OutageWait(demand, number, self, completion)
    ask(wait)
    return wait
  }

  package func shutDown() {
    local.shutDown()
    link.shutDown()
    // What waits asks the link again, which answers with `shutDown`.
    isBack()
  }

  fileprivate func ask(_ wait: OutageWait) {
    let returns = state.withLock { $0.returns }
    wait.follow {
      link.requestPermit(wait.demand) { [self] result in
        if case .failure(let error) = result, error.code == .coordinatorUnavailable {
          missed(wait, error, returns)
        } else {
          wait.end(result)
        }
      }
    }
  }

  /// The coordinator could not be reached.
  ///
  /// - Parameter returns: How often the coordinator had come back when it was asked for the permit.
  private func missed(_ wait: OutageWait, _ error: DispatchError, _ returns: UInt64) {
    // A cancelled request must not use up the start of another one at the local coordinator.
    guard !wait.isOver else { return }
    switch policy.kind {
    case .failClosed(let patience): hold(wait, error, patience, returns)
    case .localShare:
      guard let share = try? wait.demand.share(of: max(1, link.programs)) else {
        return hold(wait, error, OutagePolicy.usualPatience, returns)
      }
      wait.follow { local.requestPermit(share) { wait.end($0) } }
    case .failOpen(let limits):
      wait.follow { local.requestPermit(wait.demand.with(limits)) { wait.end($0) } }
    }
  }

  private func hold(_ wait: OutageWait, _ error: DispatchError, _ patience: Duration, _ returns: UInt64) {
    guard patience > .zero else { return wait.end(.failure(error)) }
    wait.giveUp(after: patience, with: error, timers)
    let isBack = state.withLock { state in
      // The coordinator may have come back between its failure and now. A wait registered after that would not ask it
      // again.
      if state.returns == returns { state.waiting[wait.number] = wait }
      return state.returns != returns
    }
    if isBack {
      wait.stopGivingUp()
      return ask(wait)
    }
    // It may have ended before it was registered.
    if wait.isOver { forget(wait) }
  }

  fileprivate func forget(_ wait: OutageWait) {
    // The caller's own reference keeps the wait alive, so no deinit runs under the lock.
    _ = state.withLock { $0.waiting.removeValue(forKey: wait.number) }
  }

  /// The coordinator is back: all waiting requests ask again, in order of arrival.
  private func isBack() {
    let waiting = state.withLock { state in
      state.returns += 1
      defer { state.waiting = [:] }
      return state.waiting.sorted { $0.key < $1.key }.map(\.value)
    }
    for wait in waiting where !wait.isOver {
      wait.stopGivingUp()
      ask(wait)
    }
  }
}

/// A request for a permit, over the link, during an outage, or at the local coordinator.
private final class OutageWait: SharedPermitRequest {
  private struct State {
    var completion: (@Sendable (Result<any SharedPermit, DispatchError>) -> Void)?
    /// What it waits for: the latest of its requests.
    var request: (any SharedPermitRequest)?
    /// How many requests it has made.
    var made = 0
    var timer: ScheduledTimer?
  }

  let demand: SharedDemand
  /// Its place in the order of arrival.
  let number: UInt64
  private let handler: OutageHandler
  private let state: Locked<State>

  init(
    _ demand: SharedDemand, _ number: UInt64, _ handler: OutageHandler,
    _ completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) {
    (self.demand, self.number, self.handler) = (demand, number, handler)
    state = Locked(State(completion: completion))
  }

  var isOver: Bool { state.withLock { $0.completion == nil } }

  /// Makes a request at the link or at the local coordinator, which a cancel will reach.
  func follow(_ makeRequest: () -> any SharedPermitRequest) {
    let number = state.withLock { state in
      state.made += 1
      return state.made
    }
    let request = makeRequest()
    let isOver = state.withLock { state in
      // A request that fails at once may be followed by another one before it is returned here.
      if state.completion != nil, state.made == number { state.request = request }
      return state.completion == nil
    }
    if isOver { request.cancel() }
  }

  /// Starts the timer after which it fails.
  func giveUp(after patience: Duration, with error: DispatchError, _ timers: any TimerService) {
    let timer = timers.schedule(at: timers.now + patience) { [self] in end(.failure(error)) }
    let isOver = state.withLock { state in
      if state.completion != nil { state.timer = timer }
      return state.completion == nil
    }
    if isOver { timer.cancel() }
  }

  /// The coordinator is back, so it no longer fails after a time.
  func stopGivingUp() { state.withLock { $0.timer.take() }?.cancel() }

  /// Passes on the first result. A permit that comes later is returned.
  func end(_ result: Result<any SharedPermit, DispatchError>) {
    let ended = state.withLock { state in
      defer { state = State() }
      return state
    }
    ended.timer?.cancel()
    guard let completion = ended.completion else {
      if case .success(let permit) = result { permit.decline() }
      return
    }
    handler.forget(self)
    completion(result)
  }

  func cancel() {
    let request = state.withLock { $0.request }
    request?.cancel()
    end(.failure(DispatchError(.cancelled)))
  }
}
