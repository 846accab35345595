import CHeadgate
import Synchronization

/// Adaptive spin limit for the callers at one end of a queue: it spins only as long as spinning has recently paid off.
///
/// A partner on another processor answers within a microsecond or two, and spinning is then much cheaper than sleeping.
/// A partner on the same processor cannot run before the caller sleeps. If the partner was last seen on this processor
/// and spinning failed before, the limit is halved with each failure, down to a sixteenth. Every eighth time the full
/// limit is tried, since threads migrate.
// Unchecked: the pointers are constant, their memory is atomic, and the memory's owner outlives them.
@usableFromInline struct AdaptiveSpin: @unchecked Sendable {
  /// Consecutive failures. Racing updates may be lost: the count is only a heuristic.
  private let failures: UnsafeMutablePointer<AtomicCell<UInt>>
  /// The processor on which a caller at this end last began to spin or woke another caller.
  private let processor: UnsafeMutablePointer<AtomicCell<Int>>

  /// Uses 16 bytes at this address.
  init(at address: UnsafeMutableRawPointer) {
    failures = address.initializeMemory(as: AtomicCell<UInt>.self, to: AtomicCell(0))
    processor = (address + 8).initializeMemory(as: AtomicCell<Int>.self, to: AtomicCell(-1))
  }

  /// Deinitializes that memory.
  func destroy() {
    failures.deinitialize(count: 1)
    processor.deinitialize(count: 1)
  }

  /// Records the calling thread's processor and returns its number.
  @discardableResult
  func noteProcessor() -> Int {
    let here = Int(headgate_processor())
    // A store each time would take the cache line away from other processors.
    if processor.pointee.load(ordering: .relaxed) != here { processor.pointee.store(here, ordering: .relaxed) }
    return here
  }

  /// Spins for a few microseconds at most. Returns whether `isReady` returned true.
  ///
  /// - Parameters:
  ///   - other: The spin state of the other end.
  ///   - pauses: Pauses before the first check. Each check takes a cache line away from the thread at the other end, so
  ///     in a stream it is better to check late, when several elements have accumulated.
  ///   - isReady: The condition to wait for.
  func spin(for other: AdaptiveSpin, after pauses: Int = 0, until isReady: () -> Bool) -> Bool {
    guard SpinBudget.queue > 0 else { return false }
    let failed = failures.pointee.load(ordering: .relaxed)
    let here = noteProcessor()
    let isShared = here >= 0 && other.processor.pointee.load(ordering: .relaxed) == here
    let halvings = isShared && failed % 8 != 7 ? min(failed, 4) : 0
    for _ in 0..<(pauses >> halvings) { spinPause() }
    for _ in 0..<(SpinBudget.queue >> halvings) {
      if isReady() {
        if failed != 0 { failures.pointee.store(0, ordering: .relaxed) }
        return true
      }
      spinPause()
    }
    failures.pointee.store(failed &+ 1, ordering: .relaxed)
    return false
  }
}
