import CHeadgate
import Synchronization

/// One thread of a pool.
// Unchecked: mutable non-atomic state is accessed only by the worker's thread, some of it under the pool's lock.
final class PoolWorker: @unchecked Sendable {
  let place: Int
  let parker = Parker()
  /// The number of tasks completed here. Written only by the worker.
  let completed = AtomicCell<Int>(0)

  var record: ThreadRecord
  /// Whether the roster counts it as working. It then takes its next task without the pool's lock.
  var isWorking = false
  /// The number of tasks taken since it last found none.
  var taken = 0
  /// Whether tasks arrived in quick succession before it last found none: a stream, which is worth a short wait.
  var streams = false
  /// The number of tasks ever submitted when it last found none.
  var seen = 0
  var idleUntil = Deadline.distantFuture

  // Below this address a task does not run another nested inside it.
  private var lowestStack: UInt = 0

  init(place: Int) {
    self.place = place
    record = ThreadRecord()
  }

  /// Called first on the thread.
  func begin(stackSize: Int) {
    record = .current
    // The system may not know the size if it has no memory left.
    let known = stackSize > 0 ? stackSize : headgate_thread_stack(headgate_thread_self())
    let size = UInt(known > 0 ? known : 128 << 10)
    let top = headgate_stack_here()
    lowestStack = top - min(top, size / 2)
  }

  /// Counts one more completed task. Called by the worker itself.
  func countCompleted() { completed.store(completed.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

  // MARK: The stack

  /// Whether half of the thread's stack is left for a nested task.
  var hasStackLeft: Bool { headgate_stack_here() > lowestStack }
}
