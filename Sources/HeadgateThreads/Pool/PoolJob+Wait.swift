extension PoolJob: WaitTarget {
  final var waitName: String { "a task of pool \"\(core.name)\"" }
}

/// Where a caller waits for jobs: a job itself, or ``JobEnds``.
protocol EndLine {
  /// Adds a waiter. Returns false if there is nothing to wait for.
  func add(_ waiter: Waiter) -> Bool

  /// Removes a waiter that has given up.
  func remove(_ waiter: Waiter)
}

extension EndLine {
  /// Suspends the current task until a job has ended, or the task is cancelled.
  nonisolated(nonsending) func suspendUntilEnd() async -> Waiter.Outcome {
    let waiter = Waiter.ofTask()
    guard add(waiter) else { return .woken }
    let outcome = await waiter.wait(until: .distantFuture)
    if outcome != .woken { remove(waiter) }
    return outcome
  }
}

extension PoolJob: EndLine {
  /// Blocks the calling thread until the job has ended. A thread of the job's pool runs the job itself if it is still
  /// queued.
  @usableFromInline
  final func blockUntilEnd(_ deadline: Deadline) throws(WaitError) {
    let worker = PoolFrame.current?.worker(of: core)
    if let worker {
      if deadline == .distantFuture || deadline > .now, core.help(self, on: worker) { return }
    } else if lookFor(SpinBudget.task, deadline) {
      return
    }
    try core.block(at: self, for: [self], isWorker: worker != nil, until: deadline)
  }

  /// Suspends the current task until the job has ended, even if the task is cancelled.
  nonisolated(nonsending) final func suspendUntilItEnds() async {
    let waiter = Waiter.ofTask()
    if add(waiter) { _ = await waiter.waitForEnd() }
  }

  /// Blocks the calling thread until the job has ended, even if the thread is cancelled.
  final func blockUntilItEnds() {
    let waiter = Waiter.ofThread()
    guard add(waiter) else { return }
    // For dumps, and so that a later wait for this thread is refused. This one can't be: the job uses the caller's
    // captures.
    let isRecorded = WaitGraph.enter([self], isCancellable: false) == nil
    defer { if isRecorded { WaitGraph.leave() } }
    _ = waiter.wait(until: .distantFuture, cancellable: false)
  }

  /// Spins until the end: a short task ends in less time than a sleep and a wake-up take.
  private func lookFor(_ nanoseconds: Int64, _ deadline: Deadline) -> Bool {
    guard nanoseconds > 0, deadline != .distantPast else { return hasEnded }
    let end = min(deadline, Deadline.now.advanced(byNanoseconds: nanoseconds))
    repeat {
      for _ in 0..<8 {
        if hasEnded { return true }
        spinPause()
      }
    } while .now < end
    return hasEnded
  }
}

extension PoolCore {
  /// Blocks the calling thread until one of the jobs has ended.
  ///
  /// - Parameters:
  ///   - line: Where it waits.
  ///   - jobs: The jobs that have not ended, as far as the caller knows; not empty.
  ///   - isWorker: Whether the calling thread belongs to the pool.
  ///   - deadline: When to stop waiting.
  func block(
    at line: some EndLine, for jobs: [any WaitTarget], isWorker: Bool, until deadline: Deadline
  ) throws(WaitError) {
    let started = Deadline.now
    func failure(_ code: WaitError.Code, cycle: String? = nil) -> WaitError {
      WaitError(code, operation: "wait for a task of pool \"\(name)\"", waited: .now - started, cycle: cycle)
    }
    guard deadline > started else { throw failure(.timedOut) }
    guard !WorkerThread.mustNotBlock else { throw failure(.onCooperativeThread) }

    if let cycle = WaitGraph.enter(jobs, counts: deadline == .distantFuture) {
      throw failure(.wouldDeadlock, cycle: cycle)
    }
    defer { WaitGraph.leave() }
    let waiter = Waiter.ofThread()
    guard line.add(waiter) else { return }
    // If a job is still queued at this point, this thread could not run it for lack of stack, so another one must.
    let needsStandIn = isWorker && jobs.contains { $0.performer == nil }
    let outcome = block(waiter, until: deadline, needsStandIn: needsStandIn)
    guard let code = WaitError.Code(outcome) else { return }
    line.remove(waiter)
    throw failure(code)
  }
}

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
