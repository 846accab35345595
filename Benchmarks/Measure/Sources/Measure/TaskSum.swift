import Dispatch
import Synchronization

/// What the empty tasks of the pools do: each adds its number to one atomic word, the last says that all ran.
///
/// All numbers are above zero, so the sum is what it should be only when each has been added once. One for the process,
/// so that a task's closure holds nothing but its number.
public enum TaskSum {
  @usableFromInline static let sum = Atomic<Int>(0)
  @usableFromInline static let wanted = Atomic<Int>(0)
  @usableFromInline static let done = DispatchSemaphore(value: 0)

  /// What task `number` does.
  @inlinable
  public static func add(_ number: Int) {
    let after = sum.add(number, ordering: .acquiringAndReleasing).newValue
    if after == wanted.load(ordering: .relaxed) { done.signal() }
  }

  /// Submits the tasks 1 to `operations` and returns when all have run.
  @inlinable
  public static func run<Failure: Error>(_ operations: Int, submit: (Int) throws(Failure) -> Void) throws(Failure) {
    sum.store(0, ordering: .relaxed)
    wanted.store(operations * (operations + 1) / 2, ordering: .releasing)
    for number in 1...operations { try submit(number) }
    done.wait()
  }
}
