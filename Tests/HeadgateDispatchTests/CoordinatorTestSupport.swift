import HeadgateThreads

@testable import HeadgateDispatch
@testable import HeadgateGate

/// A link whose coordinator a test switches off and on. While it is on, it grants permits from a local coordinator.
final class SwitchedLink: CoordinatorLink {
  private struct State {
    var isUp: Bool
    var back: [@Sendable () -> Void] = []
    var asked = 0
    var beforeFailure: (@Sendable () -> Void)?
  }

  private let state: Locked<State>
  private let coordinator: LocalCoordinator
  let programs: Int

  init(isUp: Bool, programs: Int = 2, clock: any TimerService) {
    state = Locked(State(isUp: isUp))
    self.programs = programs
    coordinator = LocalCoordinator(timers: clock, logger: .silent)
  }

  /// How often a permit was requested.
  var asked: Int { state.withLock { $0.asked } }

  func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest {
    let isUp = state.withLock { state in
      state.asked += 1
      return state.isUp
    }
    if isUp { return coordinator.requestPermit(demand, completion: completion) }
    state.withLock { $0.beforeFailure.take() }?()
    completion(.failure(DispatchError(.coordinatorUnavailable, detail: "switched off")))
    return Nothing()
  }

  /// Runs `action` after the next request was refused, before it hears of that.
  func beforeFailure(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.beforeFailure = action } }

  func whenBack(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.back.append(action) } }

  func set(isUp: Bool) {
    let back = state.withLock { state in
      state.isUp = isUp
      return isUp ? state.back : []
    }
    for action in back { action() }
  }

  func shutDown() {
    coordinator.shutDown()
    // Its coordinator answers later requests too.
    state.withLock { $0.isUp = true }
  }

  private final class Nothing: SharedPermitRequest {
    func cancel() {}
  }
}

/// The results of requests for shared permits.
typealias Permits = Outcomes<Result<any SharedPermit, DispatchError>>
