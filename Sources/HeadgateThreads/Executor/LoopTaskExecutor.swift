/// Runs tasks on a loop's thread: `Task(executorPreference: loop.taskExecutor)`, `withTaskExecutorPreference`.
///
/// What tasks do without an actor of another executor runs on the loop, in the order in which it becomes ready, among
/// the closures of `perform`. What comes after the loop's stop runs on the global executor. Swift keeps the executor
/// alive while a task prefers it; the loop itself has to be kept by somebody, or it stops.
public final class LoopTaskExecutor: TaskExecutor {
  private let core: LoopCore

  init(_ core: LoopCore) { self.core = core }

  /// Takes a job. From any thread.
  public func enqueue(_ job: consuming ExecutorJob) { core.accept(UnownedJob(job)) }

  /// The reference that Swift's runtime asks for.
  public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

  func runHere(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}
