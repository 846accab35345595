import CoreMetrics
import HeadgateDispatch
import HeadgateThreads

/// Reports a coordinator's permits to swift-metrics, and passes all requests on to the coordinator.
///
///     let coordinator = MeasuredCoordinator(UnixCoordinator())
///     let dispatcher = try URLDispatcher(limits: limits, coordinator: coordinator)
///
/// | metric | kind | meaning |
/// |---|---|---|
/// | `headgate.client.shared.time_in_queue` | timer | each wait for a shared permit that was granted |
/// | `headgate.client.shared.queue.length` | meter | requests of this program that wait for a shared permit |
/// | `headgate.client.shared.permits` | meter | shared permits that this program holds |
/// | `headgate.client.shared.failures` | counter | requests that ended without a permit, with the attribute `error.type` |
///
/// All metrics have the attributes `server.address` and `server.port`, bounded as in ``MetricsObserver``.
public final class MeasuredCoordinator: PauseSharing {
  struct Failure: Hashable, Sendable {
    let name: EndPointNames.Name
    let error: String
  }

  private let coordinator: any GateCoordinator
  private let timers: any TimerService
  private let names: EndPointNames
  private let waits: InstrumentCache<EndPointNames.Name, CoreMetrics.Timer>
  private let lengths: InstrumentCache<EndPointNames.Name, Meter>
  fileprivate let permits: InstrumentCache<EndPointNames.Name, Meter>
  private let failures: InstrumentCache<Failure, Counter>

  /// Creates a coordinator.
  ///
  /// - Parameters:
  ///   - coordinator: Grants the permits.
  ///   - factory: The metrics backend. Default: the one with which the process was bootstrapped.
  ///   - timers: The clock.
  ///   - maxEndPoints: The maximum number of end-points to distinguish, 0 or more.
  public init(
    _ coordinator: any GateCoordinator, factory: any MetricsFactory = MetricsSystem.factory,
    timers: any TimerService = TimerThread.requests, maxEndPoints: Int = 200
  ) {
    (self.coordinator, self.timers) = (coordinator, timers)
    names = EndPointNames(most: maxEndPoints)
    func meters(_ label: String) -> InstrumentCache<EndPointNames.Name, Meter> {
      InstrumentCache { Meter(label: label, dimensions: $0.attributes, factory: factory) }
    }
    waits = InstrumentCache {
      CoreMetrics.Timer(
        label: "headgate.client.shared.time_in_queue", dimensions: $0.attributes, preferredDisplayUnit: .seconds,
        factory: factory)
    }
    lengths = meters("headgate.client.shared.queue.length")
    permits = meters("headgate.client.shared.permits")
    failures = InstrumentCache {
      Counter(
        label: "headgate.client.shared.failures", dimensions: $0.name.attributes + [("error.type", $0.error)],
        factory: factory)
    }
  }

  /// The description of the coordinator.
  public var description: String { coordinator.description }

  /// Requests a permit; see `GateCoordinator`.
  public func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest {
    let name = names.name(of: demand.endPoint)
    let asked = timers.now
    lengths[name].increment()
    return coordinator.requestPermit(demand) { [self] result in
      lengths[name].decrement()
      switch result {
      case .success(let permit):
        waits[name].recordNanoseconds(timers.now.nanoseconds(since: asked))
        permits[name].increment()
        completion(.success(MeasuredPermit(permit, permits[name])))
      case .failure(let error):
        failures[Failure(name: name, error: error.code.description)].increment()
        completion(.failure(error))
      }
    }
  }

  package func share(_ pause: SharedPause) { (coordinator as? any PauseSharing)?.share(pause) }

  package func whenPaused(_ hear: @escaping @Sendable (SharedPause) -> Bool) {
    (coordinator as? any PauseSharing)?.whenPaused(hear)
  }

  /// Shuts the coordinator down.
  public func shutDown() { coordinator.shutDown() }

  /// Shuts the coordinator down, and waits as it does.
  public func shutDown(waitingUntil deadline: Deadline) async { await coordinator.shutDown(waitingUntil: deadline) }
}

/// A permit that is counted while it is held.
private final class MeasuredPermit: SharedPermit {
  private let permit: any SharedPermit
  private let held: Meter

  init(_ permit: any SharedPermit, _ held: Meter) { (self.permit, self.held) = (permit, held) }

  // A permit that is dropped is released by its coordinator, and is no longer held.
  deinit { _ = release() }

  func settle(_ weights: [String: Int]) -> Bool { permit.settle(weights) }

  func release() -> Bool { counted(permit.release()) }

  func decline() -> Bool { counted(permit.decline()) }

  private func counted(_ isReturned: Bool) -> Bool {
    if isReturned { held.decrement() }
    return isReturned
  }
}
