import DequeModule

/// Runs jobs one after another, in the order of their arrival, on threads that many lanes share.
///
/// A lane whose job takes long (a slow disk) occupies one thread and delays only its own jobs, as long as the crew has
/// another thread.
package final class SerialLane: Sendable {
  package typealias Job = @Sendable () -> Void

  private struct State {
    var jobs: [Job] = []
    // On the crew's queue or running: it is there once at most.
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

  /// Runs all jobs that are there. True if others have come meanwhile: then the lane goes to the end of the queue.
  fileprivate func runJobs() -> Bool {
    let jobs = state.withLock { state in
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in jobs { job() }
    return state.withLock { state in
      state.isScheduled = !state.jobs.isEmpty
      return state.isScheduled
    }
  }
}

/// The threads that lanes run on: started when first needed, a few at most, asleep while there is nothing to do.
package final class LaneCrew: Sendable {
  private struct State {
    var lanes: Deque<SerialLane> = []
    var threads = 0
    var idle: [Parker] = []
  }

  private let name: String
  private let size: Int
  private let state = Locked(State())

  /// - Parameters:
  ///   - name: The threads' name.
  ///   - size: The most threads.
  package init(name: String, size: Int) {
    self.name = name
    self.size = size
  }

  fileprivate func schedule(_ lane: SerialLane) {
    let (parker, mustStart) = state.withLock { state -> (Parker?, Bool) in
      state.lanes.append(lane)
      // The last to go to sleep is the first to be woken: its stack is still warm.
      if let parker = state.idle.popLast() { return (parker, false) }
      guard state.threads < size else { return (nil, false) }
      state.threads += 1
      return (nil, true)
    }
    parker?.unpark()
    if mustStart { startThread() }
  }

  private func startThread() {
    do {
      _ = try WorkerThread(name: name, serves: true) { [self] in work() }
    } catch {
      // With other threads at work the lane waits for one of them. With none, the caller is the thread.
      let isAlone = state.withLock { state in
        state.threads -= 1
        return state.threads == 0
      }
      if isAlone { while runNext() {} }
    }
  }

  private func work() {
    let parker = Parker()
    while true {
      while runNext() {}
      let mustPark = state.withLock { state in
        guard state.lanes.isEmpty else { return false }
        state.idle.append(parker)
        return true
      }
      if mustPark { while !parker.park() {} }
    }
  }

  private func runNext() -> Bool {
    guard let lane = state.withLock({ $0.lanes.popFirst() }) else { return false }
    if lane.runJobs() { schedule(lane) }
    return true
  }
}
