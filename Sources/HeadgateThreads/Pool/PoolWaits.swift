/// Which running job waits for which: a wait that would close a circle is refused.
///
/// Only threads that run a job ask here, just before they sleep, so one lock for all pools is enough, and circles through
/// several pools are seen too.
enum PoolWaits {
  private static let lock = Locked(())

  /// Notes that the calling thread's job is about to wait for `target`. False: `target` waits for that job already.
  static func begin(_ job: PoolJob, for target: PoolJob) -> Bool {
    lock.withLock { _ in
      var next: PoolJob? = target
      while let visited = next {
        // All jobs of this thread stand still while it sleeps: also those in whose midst `job` runs.
        var mine: PoolJob? = job
        while let one = mine {
          if one === visited { return false }
          mine = one.below
        }
        next = visited.waitsFor
      }
      job.waitsFor = target
      return true
    }
  }

  /// The wait is over.
  static func end(_ job: PoolJob) { lock.withLock { _ in job.waitsFor = nil } }

  /// Notes that `inner` runs in the midst of `job`.
  static func enter(_ inner: PoolJob, within job: PoolJob) {
    inner.below = job
    lock.withLock { _ in job.waitsFor = inner }
  }

  /// That is over.
  static func leave(_ inner: PoolJob, within job: PoolJob) {
    inner.below = nil
    lock.withLock { _ in job.waitsFor = nil }
  }
}
