import Dispatch
import Synchronization

/// The body of the pools' empty tasks: each adds its number to one atomic word, and the last one signals that all have
/// run.
///
/// All numbers are above zero, so the sum is correct only if each has been added once. There is one object for the
/// process, so that a task's closure captures only its number.
public enum TaskSum {
  @usableFromInline static let sum = Atomic<Int>(0)
  @usableFromInline static let wanted = Atomic<Int>(0)
  @usableFromInline static let done = DispatchSemaphore(value: 0)

  /// The body of task `number`.
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
