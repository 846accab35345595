/// Runs tasks of Swift's on a pool: `Task(executorPreference: pool.taskExecutor)`, `withTaskExecutorPreference`.
///
/// What tasks do without an actor of another executor runs on the pool's threads, each piece as a task of the pool. A
/// task's priority picks the pool's: `background` and `utility` go to `low`, `high` (`userInitiated`) to `high`, all
/// else to `normal`; a later escalation changes nothing. Pieces are never refused: they pass the pool's bound, and what
/// comes after the pool was disposed of runs on the global executor. `Task.yield` and `Task.sleep` come back here.
///
/// Swift keeps the executor alive while a task prefers it. The pool itself has to be kept by somebody, or it is disposed of.
public final class PoolTaskExecutor: TaskExecutor {
  // A type of its own: one that were a SerialExecutor as well would slow down the runtime's every switch.
  private let core: PoolCore

  init(_ core: PoolCore) { self.core = core }

  /// Takes a piece of a task. From any thread; without an allocation.
  public func enqueue(_ job: consuming ExecutorJob) {
    // Read before others can run it, and with that end it.
    let priority = job.priority.rawValue
    let job = UnownedJob(job)
    do {
      try core.submit(.executorJob(job, self), level: Self.level(of: priority).level)
    } catch {
      job.runElsewhere()
    }
  }

  private static func level(of priority: UInt8) -> PoolPriority {
    if priority >= JobPriority(TaskPriority.high).rawValue { return .high }
    return priority > JobPriority(TaskPriority.utility).rawValue || priority == 0 ? .normal : .low
  }

  /// The reference that Swift's runtime asks for.
  public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

  // A task of the pool as any other: what Objective-C code leaves behind goes with it, not with the thread.
  func runHere(_ job: UnownedJob) { withAutoreleasePool { job.runSynchronously(on: asUnownedTaskExecutor()) } }
}
