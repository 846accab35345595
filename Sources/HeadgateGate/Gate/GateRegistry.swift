import HeadgateThreads
import Logging
import Synchronization

/// Detects two independent gates that admit requests to the same end-point, where their limits add up at the server.
///
/// A gate checks when it meets a new end-point, and never for a known one. It warns the first time that it finds
/// another gate busy there, and then stops checking.
final class GateRegistry: Sendable {
  // Rejected: weak references to the gates, which would make every retain and release of a gate slower.
  private static let all = Locked<[LockedGateState]>([])

  private let hasWarned = Atomic<Bool>(false)

  static func enter(_ state: LockedGateState) { all.withLock { $0.append(state) } }

  static func leave(_ state: LockedGateState) {
    // The caller's own reference keeps the state alive, so no deinit runs under the lock.
    all.withLock { states in states.removeAll { $0 === state } }
  }

  /// A gate has met an end-point. Warns once if another gate is busy there.
  func meets(_ endPoint: EndPoint, _ state: LockedGateState, _ logger: Logger) {
    guard !hasWarned.load(ordering: .relaxed) else { return }
    let others = Self.all.withLock { states in states.count > 1 ? states : [] }
    let isShared = others.contains { $0 !== state && $0.withLock { $0.scheduler.isBusy(endPoint) } }
    guard isShared, !hasWarned.exchange(true, ordering: .relaxed) else { return }
    logger.warning(
      "Two independent gates admit requests to \(endPoint), so their limits add up at the server. Give both dispatchers one gate, or use one dispatcher."
    )
  }
}
