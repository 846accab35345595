#if Redis
import HeadgateGate
import HeadgateThreads

/// The connection of this program to Redis, on a thread of its own. The thread is busy only while the program waits for
/// permits or holds some: a program that has been idle for the time of a lease sends nothing to Redis.
final class RedisLink: CoordinatorLink {
  private enum Phase { case up, down, ended }

  private struct State {
    var phase = Phase.up
    var ledger = SessionLedger()
    var programs = 1
    var back: [@Sendable () -> Void] = []
    var failure = ""
    // Whether requests have failed since the last connection.
    var hasMissed = false
    var poller: Poller?
    var isStarted = false
  }

  private let url: RedisURL
  private let namespace: String
  private let lease: Duration
  private let name: String
  private let state = Locked(State())
  private let threadEnd = Latch()
  private let listeners = PauseListeners()

  init(_ url: RedisURL, namespace: String, lease: Duration) {
    (self.url, self.namespace, self.lease) = (url, namespace, lease)
    name = String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
  }

  var programs: Int { state.withLock { max(1, $0.programs) } }

  func whenBack(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.back.append(action) } }

  func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest {
    let wait = RedisWait(demand, self, completion)
    let (failure, mustStart) = state.withLock { state -> (DispatchError?, Bool) in
      if Self.isTooHeavy(demand) { return (DispatchError(.tooHeavy, endPoint: demand.endPoint), false) }
      switch state.phase {
      case .ended: return (DispatchError(.shutDown), false)
      case .down: return (DispatchError(.coordinatorUnavailable, detail: state.failure), false)
      case .up: break
      }
      state.ledger.add(wait)
      state.poller?.wake()
      defer { state.isStarted = true }
      return (nil, !state.isStarted)
    }
    if let failure { wait.end(.failure(failure)) }
    if mustStart { start() }
    return wait
  }

  private static func isTooHeavy(_ demand: SharedDemand) -> Bool {
    (demand.limits.budgets + demand.scopeLimits.values.flatMap(\.budgets)).contains { budget in
      (demand.weights[budget.name] ?? 0) > budget.units
    }
  }

  func withdraw(_ wait: RedisWait) {
    state.withLock { state in
      state.ledger.withdraw(wait)
      state.poller?.wake()
    }
  }

  func release(_ number: UInt64, isUsed: Bool) {
    state.withLock { state in
      if state.ledger.release(number, isUsed: isUsed) { state.poller?.wake() }
    }
  }

  func settle(_ name: String, _ moment: String, _ uses: [(budget: String, charged: Int, used: Int)]) -> Bool {
    state.withLock { state in
      guard state.phase == .up else { return false }
      for use in uses where use.charged != use.used {
        state.ledger.settle(name, moment, use.budget, use.charged, use.used)
      }
      state.poller?.wake()
      return true
    }
  }

  func whenPaused(_ hear: @escaping @Sendable (SharedPause) -> Bool) { listeners.add(hear) }

  func share(_ pause: SharedPause) {
    state.withLock { state in
      state.ledger.pause(pause, until: .after(pause.left))
      state.poller?.wake()
    }
  }

  /// The pauses of end-points for which requests wait.
  func heard(_ pauses: [RedisSession.Pause]) {
    let known = state.withLock { state in
      pauses.compactMap { pause in
        state.ledger.endPoint(of: pause.scope).flatMap {
          SharedPause(at: $0, left: pause.left, PermitClass.cause(pause.cause))
        }
      }
    }
    for pause in known { listeners.tell(pause) }
  }

  func shutDown() {
    let waits = state.withLock { state in
      state.phase = .ended
      defer { state.poller?.wake() }
      return state.ledger.takeWaits()
    }
    for wait in waits { wait.end(.failure(DispatchError(.shutDown))) }
  }

  /// Waits after a shutdown until the session has ended, at most until the deadline.
  func waitForEnd(until deadline: Deadline) async {
    guard state.withLock({ $0.isStarted }) else { return }
    try? await threadEnd.wait(until: deadline)
  }

  // MARK: The thread

  private func start() {
    do {
      let poller = try Poller()
      state.withLock { $0.poller = poller }
      _ = try WorkerThread(name: "headgate-redis", serves: true) { [self] in
        RedisThread(self, poller, url, namespace: namespace, name: name, lease: lease).run()
        threadEnd.countDown()
      }
    } catch {
      goDown("no thread or descriptor is left")
      // The next request tries again. Once it has connected, those that have failed are told that Redis is back.
      state.withLock { state in
        if state.phase == .down { (state.phase, state.isStarted) = (.up, false) }
      }
    }
  }

  /// Reads or changes the ledger, for the thread.
  func withLedger<Result>(_ body: (inout sending SessionLedger) -> sending Result) -> sending Result {
    state.withLock { body(&$0.ledger) }
  }

  /// Whether the link was shut down and no permit is held any more.
  var isOver: Bool { state.withLock { $0.phase == .ended && $0.ledger.held.isEmpty } }

  /// Whether there is nothing to do. A link that is down connects again, so that requests are accepted again.
  var isIdle: Bool { state.withLock { $0.phase != .down && $0.ledger.isIdle } }

  /// Redis can't be reached. The waiting requests are told so.
  func goDown(_ text: String) {
    let waits = state.withLock { state -> [RedisWait] in
      guard state.phase != .ended else { return [] }
      (state.phase, state.failure, state.hasMissed) = (.down, text, true)
      return state.ledger.takeWaits()
    }
    for wait in waits { wait.end(.failure(DispatchError(.coordinatorUnavailable, detail: text))) }
  }

  func goUp() {
    let back = state.withLock { state -> [@Sendable () -> Void] in
      guard state.phase != .ended, state.hasMissed else { return [] }
      (state.phase, state.hasMissed) = (.up, false)
      return state.back
    }
    for action in back { action() }
  }

  func granted(_ grants: [RedisSession.Grant], programs: Int) {
    let permits = state.withLock { state in
      state.programs = programs
      return grants.map { grant in (grant, state.ledger.grant(grant.name)) }
    }
    for (grant, (number, wait)) in permits {
      let permit = RedisPermit(self, number, grant.name, wait?.demand.weights ?? [:], grant.moment)
      guard let wait else {
        permit.decline()
        continue
      }
      if grant.wait > .zero {
        // A rate has reserved a later start.
        _ = TimerThread.requests.schedule(after: grant.wait) { wait.end(.success(permit)) }
      } else {
        wait.end(.success(permit))
      }
    }
  }
}
#endif
