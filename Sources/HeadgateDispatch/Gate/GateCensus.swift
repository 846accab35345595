import HeadgateThreads
import Logging
import Synchronization

/// Notices that two gates know nothing of each other and let requests through to one end-point: their limits add up at
/// the server.
///
/// A gate looks round when it meets an end-point that it did not know; one that has met them all looks never. The first
/// time that it finds another gate busy there it says so, and then looks no more.
final class GateCensus: Sendable {
  // Rejected: weak references, which would make every retain and release of a gate a slower one.
  // Unowned: a gate leaves at the start of its deinitializer, for which it needs the lock under which others look at it.
  private struct Entry: @unchecked Sendable {
    unowned(unsafe) let gate: EndPointGate
  }

  private static let all = Locked<[Entry]>([])

  /// How many end-points the gate had met when it looked round last.
  let met = Atomic<Int>(0)
  private let hasWarned = Atomic<Bool>(false)

  static func enter(_ gate: EndPointGate) {
    let entry = Entry(gate: gate)
    all.withLock { $0.append(entry) }
  }

  static func leave(_ gate: EndPointGate) {
    let entry = Entry(gate: gate)
    all.withLock { entries in entries.removeAll { $0.gate === entry.gate } }
  }

  /// The gate has met an end-point: says once if another gate is busy there.
  func meets(_ endPoint: EndPoint, count: Int, _ gate: EndPointGate) {
    met.store(count, ordering: .relaxed)
    guard !hasWarned.load(ordering: .relaxed) else { return }
    let entry = Entry(gate: gate)
    // The census's lock is taken before a gate's, never the other way round.
    let isShared = Self.all.withLock { entries in
      entries.contains { $0.gate !== entry.gate && $0.gate.isBusy(endPoint) }
    }
    guard isShared, !hasWarned.exchange(true, ordering: .relaxed) else { return }
    gate.logger.warning(
      "Two gates that know nothing of each other let requests through to \(endPoint): their limits add up at the server. Give both dispatchers one gate, or use one dispatcher."
    )
  }
}
