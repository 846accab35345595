import Dispatch
import Synchronization

/// Counts completed operations, and lets one thread wait for the last.
public final class Tally: Sendable {
  private let left: Atomic<Int>
  private let errors = Atomic<Int>(0)
  private let done = DispatchSemaphore(value: 0)

  /// Creates a tally of a number of operations.
  public init(_ count: Int) { left = Atomic(count) }

  /// Records the end of one operation.
  public func ended(well: Bool) {
    if !well { errors.add(1, ordering: .relaxed) }
    if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.signal() }
  }

  /// Blocks until all have ended; returns the number of failures.
  public func wait() -> Int {
    done.wait()
    return errors.load(ordering: .relaxed)
  }
}
