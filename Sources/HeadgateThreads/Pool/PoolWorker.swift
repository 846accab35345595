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

/// A pool's activity on one thread: one frame for a worker's life, and one for each task that a submitter runs itself.
// Unchecked: a frame is reachable only through its thread's local storage.
final class PoolFrame: @unchecked Sendable {
  unowned(unsafe) let core: PoolCore
  /// The thread's worker; nil on a submitter's thread.
  unowned(unsafe) let worker: PoolWorker?
  /// The job whose body is running.
  unowned(unsafe) var job: PoolJob?
  /// The enclosing frame, of another pool or of a submitter's thread.
  let outer: PoolFrame?
  let depth: Int

  init(_ core: PoolCore, worker: PoolWorker?) {
    self.core = core
    self.worker = worker
    outer = PoolFrame.current
    job = outer?.job
    depth = (outer?.depth ?? 0) + 1
  }

  /// The innermost frame of the calling thread.
  static var current: PoolFrame? {
    guard let pointer = headgate_pool_frame_get() else { return nil }
    // `use` keeps the frame alive while it is current.
    return Unmanaged<PoolFrame>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Runs `body` with this as the innermost frame.
  func use(_ body: () -> Void) {
    headgate_pool_frame_set(Unmanaged.passUnretained(self).toOpaque())
    body()
    headgate_pool_frame_set(outer.map { Unmanaged.passUnretained($0).toOpaque() })
  }

  /// The worker of `core` in this frame or an enclosing one.
  func worker(of core: PoolCore) -> PoolWorker? {
    if self.core === core, let worker { return worker }
    return outer?.worker(of: core)
  }
}
