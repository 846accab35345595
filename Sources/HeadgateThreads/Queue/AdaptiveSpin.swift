import Synchronization

/// Adaptive spin limit for the callers at one end of a queue: it spins only as long as spinning has recently paid off.
///
/// A partner on another processor answers within a microsecond or two, and spinning is then much cheaper than sleeping.
/// A partner that is slow, or that shares the caller's processor and cannot run before the caller sleeps, makes it fail:
/// the limit is halved with each failure, down to a sixteenth. Every eighth time the full limit is tried.
@usableFromInline struct AdaptiveSpin: ~Copyable {
  /// Consecutive failures. Racing updates may be lost: the count is only a heuristic.
  private let failures = AtomicCell<UInt>(0)

  /// Spins for a few microseconds at most. Returns whether `isReady` returned true.
  ///
  /// - Parameters:
  ///   - pauses: Pauses before the first check. Each check takes a cache line away from the thread at the other end, so
  ///     in a stream it is better to check late, when several elements have accumulated.
  ///   - isReady: The condition to wait for.
  func spin(after pauses: Int = 0, until isReady: () -> Bool) -> Bool {
    guard SpinBudget.queue > 0 else { return false }
    let failed = failures.load(ordering: .relaxed)
    let halvings = failed % 8 == 7 ? 0 : min(failed, 4)
    for _ in 0..<(pauses >> halvings) { spinPause() }
    for _ in 0..<(SpinBudget.queue >> halvings) {
      if isReady() {
        if failed != 0 { failures.store(0, ordering: .relaxed) }
        return true
      }
      spinPause()
    }
    failures.store(failed &+ 1, ordering: .relaxed)
    return false
  }
}
