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
