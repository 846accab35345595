import HeadgateThreads

/// Runs Swift tasks on a lane, one at a time.
final class LaneExecutor: TaskExecutor {
  private let lane: SerialLane

  init(_ lane: SerialLane) { self.lane = lane }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    lane.run { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }
}
