/// The ends of several jobs, in the order in which they come.
///
/// Each job gets one waiter, however often the caller waits for the next end: a waiter for each job at each wait would
/// make the failures of n jobs cost n² waiters. The waiters of jobs that outlive the caller's interest stay, and are
/// released with these jobs.
final class JobEnds: EndLine, Sendable {
  private struct State {
    var ended: [Int] = []
    var waiter: Waiter?
  }

  private let state = Locked(State())

  init(_ jobs: [PoolJob]) {
    for (place, job) in jobs.enumerated() where !job.add(.calling { [self] in ended(place) }) { ended(place) }
  }

  /// Removes and returns the places, in the array of jobs, of those that have ended since the last call.
  func take() -> [Int] {
    state.withLock { state in
      defer { state.ended = [] }
      return state.ended
    }
  }

  /// Adds the waiter for the next end, the only one at a time. Returns false if a job has ended since the last `take`.
  func add(_ waiter: Waiter) -> Bool {
    state.withLock { state in
      guard state.ended.isEmpty else { return false }
      state.waiter = waiter
      return true
    }
  }

  func remove(_ waiter: Waiter) { state.withLock { $0.waiter = nil } }

  private func ended(_ place: Int) {
    let waiter = state.withLock { state in
      state.ended.append(place)
      return state.waiter.take()
    }
    waiter?.end(.woken)
  }
}
