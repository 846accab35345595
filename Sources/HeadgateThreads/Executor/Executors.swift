import CHeadgate

/// Runs actors on a loop's thread, one job at a time, interleaved with the loop's other work.
///
///     actor Player {
///       private let loop: ThreadLoop
///       nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serialExecutor.asUnownedSerialExecutor() }
///     }
///
/// Store the loop (or this object) in a constant of the actor: Swift's reference to the executor is unowned. Jobs run
/// in FIFO order together with the closures of `perform`. A job costs no allocation. Since jobs must run, those that
/// arrive after the loop has stopped run on the global executor, still one at a time. This type is separate from
/// ``LoopTaskExecutor`` because Swift's runtime handles a type that conforms to both protocols more slowly
/// (swift-platform-executors 9 and 11).
public final class LoopSerialExecutor: SerialExecutor {
  private let core: LoopCore

  init(_ core: LoopCore) { self.core = core }

  /// Accepts a job. Can be called from any thread.
  public func enqueue(_ job: consuming ExecutorJob) { core.accept(UnownedJob(job), for: self) }

  /// The reference that an actor returns as its `unownedExecutor`.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  /// Traps unless the calling thread is doing this loop's work. `assumeIsolated` uses it.
  public func checkIsolated() {
    precondition(core.isCurrent, "not on the loop \"\(core.name)\"; use perform or performAndWait")
  }

  /// Whether the calling thread is doing this loop's work, so that `assumeIsolated` also works in closures of
  /// `perform`.
  public func isIsolatingCurrentContext() -> Bool? { core.isCurrent }

  // Must run as the executor that accepted the job. Under another one the runtime would enqueue it again, forever.
  func runHere(_ job: UnownedJob) { job.runSynchronously(on: asUnownedSerialExecutor()) }
}

/// Runs tasks on a loop's thread: `Task(executorPreference: loop.taskExecutor)`, `withTaskExecutorPreference`.
///
/// The parts of a task that need no other executor's actor run on the loop, in the order in which they become ready,
/// together with the closures of `perform`. Jobs that arrive after the loop has stopped run on the global executor.
/// Swift keeps the executor alive while a task prefers it. The program must keep a reference to the loop itself, or the
/// loop stops.
public final class LoopTaskExecutor: TaskExecutor {
  private let core: LoopCore

  init(_ core: LoopCore) { self.core = core }

  /// Accepts a job. Can be called from any thread.
  public func enqueue(_ job: consuming ExecutorJob) { core.accept(UnownedJob(job)) }

  /// The reference that Swift's runtime uses.
  public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

  func runHere(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}

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

extension UnownedJob {
  /// Runs the job on the global executor because its own executor no longer can: every job must run.
  package func runElsewhere() { globalConcurrentExecutor.enqueue(ExecutorJob(self)) }
}
