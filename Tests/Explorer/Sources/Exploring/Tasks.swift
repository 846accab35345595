import CExplorer

extension Run {
  /// Starts a task each of whose parts, from one suspension to the next, is a thread of the run. The run does not end
  /// successfully before the task has ended.
  @discardableResult
  package func task(_ body: @escaping @Sendable () async -> Void) -> ExploredTask {
    unfinishedTasks += 1
    return ExploredTask(
      task: Task.detached(executorPreference: Executor(run: self)) { [self] in
        await body()
        unfinishedTasks -= 1
      })
  }

  /// A part of a task that a thread of the run has started, and that would run on one of Swift's own threads.
  func start(_ job: UnownedJob) {
    let executor = Executor(run: self)
    start { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
  }

  private final class Executor: TaskExecutor {
    private let run: Run

    init(run: Run) { self.run = run }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      run.start { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }
}

/// A task of a run.
package struct ExploredTask: Sendable {
  fileprivate let task: Task<Void, Never>

  /// Cancels the task, as one step: Swift calls cancellation handlers while it holds a lock that the explorer does not
  /// see, and the task must not wait for that lock while no other thread can run.
  package func cancel() {
    Run.current?.atOnce(Int(explorer_thread())) { task.cancel() }
  }
}
