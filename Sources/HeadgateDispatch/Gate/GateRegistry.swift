import HeadgateThreads
import Logging
import Synchronization

/// Notices that two gates know nothing of each other and let requests through to one end-point: their limits add up at
/// the server.
///
/// A gate looks round when it meets an end-point that it did not know; one that has met them all looks never. The first
/// time that it finds another gate busy there it says so, and then looks no more.
final class GateRegistry: Sendable {
  // Rejected: the gates themselves, by weak references, which would make every retain and release of a gate a slower one.
  private static let all = Locked<[LockedGateState]>([])

  private let hasWarned = Atomic<Bool>(false)

  static func enter(_ state: LockedGateState) { all.withLock { $0.append(state) } }

  static func leave(_ state: LockedGateState) {
    // The caller's own reference keeps it beyond the lock.
    all.withLock { states in states.removeAll { $0 === state } }
  }

  /// A gate has met an end-point: says once if another gate is busy there.
  func meets(_ endPoint: EndPoint, _ state: LockedGateState, _ logger: Logger) {
    guard !hasWarned.load(ordering: .relaxed) else { return }
    let others = Self.all.withLock { states in states.count > 1 ? states : [] }
    let isShared = others.contains { $0 !== state && $0.withLock { $0.scheduler.isBusy(endPoint) } }
    guard isShared, !hasWarned.exchange(true, ordering: .relaxed) else { return }
    logger.warning(
      "Two gates that know nothing of each other let requests through to \(endPoint): their limits add up at the server. Give both dispatchers one gate, or use one dispatcher."
    )
  }
}
