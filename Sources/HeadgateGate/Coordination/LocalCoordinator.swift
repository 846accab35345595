import HeadgateThreads
import Logging

/// Grants permits to the dispatchers (module HeadgateDispatch) of one process that do not share a gate: for example one
/// dispatcher for each tenant or module, each with its own queue and limits.
///
///     let coordinator = LocalCoordinator()
///     let first = try URLDispatcher(limits: limits, coordinator: coordinator)
///     let second = try URLDispatcher(limits: limits, coordinator: coordinator)
///
/// If they can share one gate, prefer that:
/// `URLDispatcher.init(transport:sharing:observers:interceptors:maxBodyMemory:rateLimitFields:)`. Granting takes O(1),
/// or O(log n) with rates, budgets and scopes.
///
/// All its dispatchers should have the same limits. If they differ, those of the latest request apply, so that a change
/// of limits takes effect at once.
public final class LocalCoordinator: PauseSharing {
  let gate: EndPointGate
  private let listeners = PauseListeners()
  private let common = Locked<EndPointLimits?>(nil)

  /// Creates a coordinator.
  ///
  /// - Parameters:
  ///   - timers: The clock for rates.
  ///   - logger: Receives warnings about leaked permits.
  public init(
    timers: any TimerService = TimerThread.requests, logger: Logger = Logger(label: "headgate.coordinator")
  ) {
    gate = EndPointGate(.coordinating, timers, logger, isCoordinated: true)
  }

  /// `permits from this process`.
  public var description: String { "permits from this process" }

  /// Requests a permit; see ``GateCoordinator/requestPermit(_:completion:)``.
  public func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest {
    adopt(demand)
    return gate.requestPermit(
      for: demand.endPoint, lane: demand.lane, scopes: demand.scopes, weights: demand.weights
    ) { result in
      completion(result.map { $0 as any SharedPermit })
    }
  }

  /// Ends waiting requests with the error `shutDown`, and refuses later ones. Permits that are held stay valid.
  public func shutDown() { gate.close(.ending) }

  package func share(_ pause: SharedPause) {
    gate.hear(pause)
    listeners.tell(pause)
  }

  package func whenPaused(_ hear: @escaping @Sendable (SharedPause) -> Bool) { listeners.add(hear) }

  /// All dispatchers are one program here: the limits of the last request apply. Those of the first request become the
  /// common ones, so that only end-points with others take memory.
  private func adopt(_ demand: SharedDemand) {
    let limits = EndPointLimits.strictest([demand.limits]) ?? demand.limits
    let common = common.withLock { common in
      if let common { return common }
      common = limits
      // Nothing waits at the gate yet, so no one's completion is called under this lock.
      gate.updateLimits { $0.endPoint = limits }
      return limits
    }
    let own = limits == common ? nil : limits
    if gate.ownLimits(of: demand.endPoint) != own { gate.setLimits(own, for: demand.endPoint) }
    guard !demand.scopeLimits.isEmpty else { return }
    let scopes = demand.scopeLimits.compactMapValues { ScopeLimits.strictest([$0]) }
    let known = gate.limits.scopes
    if scopes.contains(where: { known[$0.key] != $0.value }) { gate.updateLimits { $0.scopes.merge(scopes) { $1 } } }
  }
}

extension GateLimits {
  /// The limits of a coordinator's gate: it refuses nothing, has no total, and pauses exactly as long as it is told.
  package static var coordinating: GateLimits {
    var limits = GateLimits.standard
    (limits.total, limits.waiting) = (1 << 30, 1 << 30)
    limits.pauses = PausePolicy(maxPause: PausePolicy.longestWait, jitter: 0)
    limits.breaker = BreakerPolicy(maxSuspension: .milliseconds(Remembered.longestOutage), jitter: 0)
    return limits
  }

  /// The same for permits that programs hold already, and that must count whatever the limits are.
  package static var inheriting: GateLimits {
    var limits = coordinating
    limits.endPoint = EndPointLimits(unchecked: 1 << 30, 1 << 30, 1 << 30, 1)
    (limits.pauses, limits.breaker) = (nil, nil)
    return limits
  }
}

extension PermitRequest: SharedPermitRequest {}

extension Permit: SharedPermit {}
