/// Runs Swift tasks on a pool: `Task(executorPreference: pool.taskExecutor)`, `withTaskExecutorPreference`.
///
/// The parts of a task that need no other executor's actor run on the pool's threads, each as a task of the pool. The
/// Swift task's priority determines the pool's level: `background` and `utility` map to `low`, `high` (`userInitiated`)
/// and above to `high`, all others to `normal`. A later escalation has no effect. Jobs are never refused: the pool's
/// bound does not apply to them, and those that arrive after the pool was disposed of run on the global executor. After
/// `Task.yield` and `Task.sleep` a task resumes on the pool.
///
/// Swift keeps the executor alive while a task prefers it. The program must keep a reference to the pool itself, or the
/// pool is disposed of.
public final class PoolTaskExecutor: TaskExecutor {
  // A separate type: one that is a SerialExecutor as well would slow down every switch in the runtime.
  private let core: PoolCore

  init(_ core: PoolCore) { self.core = core }

  /// Accepts a part of a task. Can be called from any thread; does not allocate.
  public func enqueue(_ job: consuming ExecutorJob) {
    // Read before another thread can run the job and end it.
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

  /// The reference that Swift's runtime uses.
  public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

  // Like any other task of the pool: autoreleased objects are released with it, not with the thread.
  func runHere(_ job: UnownedJob) { withAutoreleasePool { job.runSynchronously(on: asUnownedTaskExecutor()) } }
}
