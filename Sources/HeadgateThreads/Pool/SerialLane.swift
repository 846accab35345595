/// Runs jobs one at a time, in FIFO order, on threads shared by many lanes.
///
/// A lane with a slow job (a slow disk) occupies one thread and delays only its own jobs, as long as the crew has
/// another thread.
package final class SerialLane: Sendable {
  package typealias Job = @Sendable () -> Void

  private struct State {
    var jobs: [Job] = []
    // In the crew's queue or running. A lane is in the queue at most once.
    var isScheduled = false
  }

  private let crew: LaneCrew
  private let state = Locked(State())

  package init(on crew: LaneCrew) { self.crew = crew }

  /// Adds a job.
  package func run(_ job: @escaping Job) {
    let mustSchedule = state.withLock { state in
      state.jobs.append(job)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if mustSchedule { crew.schedule(self) }
  }

  /// Runs all jobs that are present. Returns true if more have arrived meanwhile; the lane then goes to the end of the
  /// queue.
  fileprivate func runJobs() -> Bool {
    var jobs: [Job] = []
    state.withLock { swap(&$0.jobs, &jobs) }
    for job in jobs { job() }
    return state.withLock { state in
      state.isScheduled = !state.jobs.isEmpty
      return state.isScheduled
    }
  }
}

/// The threads that lanes run on: a small pool, whose threads start when needed.
package final class LaneCrew: Sendable {
  private let core: PoolCore

  /// - Parameters:
  ///   - name: The threads' name.
  ///   - size: The maximum number of threads.
  package init(name: String, size: Int) {
    var settings = PoolCore.Settings(name: name, size: size)
    // Other threads depend on the lanes' jobs, so the jobs must not block on them.
    settings.spawn = { name, stackSize, body in
      _ = try WorkerThread(name: name, stackSize: stackSize, serves: true, body)
    }
    // The jobs wait for disks. Lingering between them would take processor time from the transfers.
    settings.lingers = false
    core = PoolCore(settings)
    DumpRegistry.add(core)
  }

  deinit {
    DumpRegistry.remove(core)
    core.dispose(now: false)
  }

  fileprivate func schedule(_ lane: SerialLane) {
    let turn = Closure { [self] in
      if lane.runJobs() { schedule(lane) }
    }
    do throws(ThreadPoolError) {
      try core.submit(.closure(turn), level: PoolPriority.normal.level)
    } catch {
      // The crew has no thread and the system refuses one. The calling thread runs the jobs itself.
      while lane.runJobs() {}
    }
  }
}
