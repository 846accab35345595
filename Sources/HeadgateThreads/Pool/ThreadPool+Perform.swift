// A loop whose iterations run on several threads. Each takes the next indices from one counter, first many at a time and
// in the end one: C. D. Polychronopoulos and D. J. Kuck, "Guided Self-Scheduling: A Practical Scheduling Scheme for
// Parallel Supercomputers", IEEE Transactions on Computers C-36 (1987). So the counter is rarely touched, and the
// threads end at about the same time, though some iterations take longer than others.

import Synchronization

extension ThreadPool {
  /// Calls a closure for each number below `count`, on threads of the pool and on the calling thread, and returns when
  /// all calls have ended. Like `DispatchQueue.concurrentPerform`.
  ///
  ///     try pool.concurrentPerform(rows.count) { try render(rows[$0]) }
  ///
  /// The calling thread does not depend on the pool: if its threads are busy, if its queue has no room, or if it was
  /// disposed of, it makes the calls itself. It may be a thread of the same pool. On a thread that must not block, it
  /// makes all calls. Costs one task for each thread, not one for each call, and uses ``ThreadPool/blockingLimit`` threads
  /// at most.
  ///
  /// - Parameters:
  ///   - count: The number of calls; none for zero or less.
  ///   - priority: The order in which the pool's threads join, relative to other tasks of the pool.
  ///   - body: The closure. Calls with low numbers start first, in no exact order.
  /// - Throws: The first error of a call. No further call starts after it, and those that are running have ended.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func concurrentPerform<Failure: Error>(
    _ count: Int, priority: PoolPriority = .normal, _ body: @escaping @Sendable (Int) throws(Failure) -> Void
  ) throws(Failure) {
    guard count > 0 else { return }
    let indices = SharedIndices<Failure>(count: count, threads: threads(for: count))
    // A thread that must not block could not wait for the others.
    let helpers =
      WorkerThread.mustNotBlock ? [] : core.enlist(min(indices.threads, count - 1), priority) { indices.run(body) }
    indices.run(body)
    for job in helpers where !core.drop(job, .cancelled) { job.blockUntilItEnds() }
    try indices.throwFailure()
  }

  /// Calls a closure for each number below `count` on threads of the pool, and suspends the task until all calls have
  /// ended. Otherwise like the blocking form.
  ///
  /// - Throws: The first error of a call; `CancellationError` if the task was cancelled before the end: no further call
  ///   starts then, and running ones see ``ThreadPool/isCancelled``; what ``run(priority:until:_:)`` throws if the pool
  ///   was disposed of or dropped its task. Some of the calls may have been made by then, and none is running.
  nonisolated(nonsending)
    public func concurrentPerform<Failure: Error>(
      _ count: Int, priority: PoolPriority = .normal, _ body: @escaping @Sendable (Int) throws(Failure) -> Void
    ) async throws
  {
    try Task.checkCancellation()
    guard count > 0 else { return }
    let indices = SharedIndices<Failure>(count: count, threads: threads(for: count))
    // The task's own cancellation reaches one of the threads at a time, so each looks at its own too.
    let work = { @Sendable in indices.run(body, unless: { ThreadPool.isCancelled }) }
    let helpers = core.enlist(indices.threads - 1, priority, work)
    let end = await withTaskCancellationHandler {
      var end: (any Error)?
      do {
        try await run(priority: priority) { work() }
      } catch {
        indices.stop()
        end = error
      }
      for job in helpers where !core.drop(job, .cancelled) { await job.suspendUntilItEnds() }
      return end
    } onCancel: {
      indices.stop()
      for job in helpers { job.cancel() }
    }
    try indices.throwFailure()
    if let end { throw end }
    guard !indices.areDone else { return }
    if isDisposed, !Task.isCancelled { throw ThreadPoolError(.disposed, pool: name) }
    // The task was cancelled, or a body has cancelled its thread.
    throw CancellationError()
  }

  /// The number of threads for a loop. A pool may have a size without a limit.
  private func threads(for count: Int) -> Int { min(size, count, Self.blockingLimit) }

  /// Transforms all inputs on threads of the pool and on the calling thread, and returns the results in the order of
  /// the inputs. Like `concurrentPerform`, with results.
  ///
  ///     let images = try pool.map(files) { try decode($0) }
  ///
  /// - Throws: The first error of a call.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func map<Input: Sendable, Output: Sendable, Failure: Error>(
    _ inputs: [Input], priority: PoolPriority = .normal,
    _ transform: @escaping @Sendable (Input) throws(Failure) -> Output
  ) throws(Failure) -> [Output] {
    let outputs = SharedOutputs<Output>(count: inputs.count)
    try concurrentPerform(inputs.count, priority: priority) { index throws(Failure) in
      outputs[index] = try transform(inputs[index])
    }
    return outputs.all
  }

  /// Transforms all inputs on threads of the pool, and suspends the task until all are done. Otherwise like the blocking
  /// form; throws like `concurrentPerform`.
  nonisolated(nonsending)
    public func map<Input: Sendable, Output: Sendable, Failure: Error>(
      _ inputs: [Input], priority: PoolPriority = .normal,
      _ transform: @escaping @Sendable (Input) throws(Failure) -> Output
    ) async throws -> [Output]
  {
    let outputs = SharedOutputs<Output>(count: inputs.count)
    try await concurrentPerform(inputs.count, priority: priority) { index throws(Failure) in
      outputs[index] = try transform(inputs[index])
    }
    return outputs.all
  }
}

extension PoolCore {
  /// Queues a body several times, as far as the queue has room.
  fileprivate func enlist(_ count: Int, _ priority: PoolPriority, _ body: @escaping @Sendable () -> Void) -> [PoolJob] {
    var jobs: [PoolJob] = []
    while jobs.count < count {
      // This kind releases its body when it ends or is dropped, and not with the last reference to the job.
      let job = ResultJob(self) { body() }
      let call = state.withLock { state in
        state.isDisposed || !state.hasRoom ? nil : state.accept(.job(job), level: priority.level)
      }
      guard let call else { break }
      jobs.append(job)
      followLater(call)
    }
    return jobs
  }
}

/// The indices of a loop that several threads run, and the first error of an iteration.
private final class SharedIndices<Failure: Error>: Sendable {
  /// The number of threads, without the caller's in the blocking form.
  let threads: Int
  private let count: Int
  private let parts: Int
  private let next = AtomicCell<Int>(0)
  private let isStopped = AtomicCell<Bool>(false)
  private let failure = Locked<Failure?>(nil)

  init(count: Int, threads: Int) {
    self.count = count
    self.threads = threads
    // Half of a fair share of what is left, so that an unlucky share does not hold up the end.
    parts = 2 * (threads + 1)
  }

  /// Whether all iterations have been taken, and none was left out.
  var areDone: Bool { next.load(ordering: .acquiring) >= count && !isStopped.load(ordering: .acquiring) }

  /// Runs iterations until none is left.
  func run(_ body: (Int) throws(Failure) -> Void, unless isCancelled: () -> Bool = { false }) {
    while let indices = take() {
      for index in indices {
        if isStopped.load(ordering: .relaxed) { return }
        if isCancelled() { return stop() }
        do throws(Failure) { try body(index) } catch { return stop(error) }
      }
    }
  }

  private func take() -> Range<Int>? {
    var start = next.load(ordering: .relaxed)
    while start < count {
      let end = start + max(1, (count - start) / parts)
      let (done, found) = next.compareExchange(expected: start, desired: end, ordering: .relaxed)
      if done { return start..<end }
      start = found
    }
    return nil
  }

  /// No further iteration starts.
  func stop(_ error: Failure? = nil) {
    isStopped.store(true, ordering: .releasing)
    guard let error else { return }
    failure.withLock { if $0 == nil { $0 = error } }
  }

  func throwFailure() throws(Failure) { if let error = failure.withLock({ $0 }) { throw error } }
}

/// Results by their indices, each written by the thread that has taken the index.
// Unchecked: an index is taken once, so no two threads write to one element, and `all` is read after the end of all of
// them. The pointer is constant, and its memory is freed in deinit.
private final class SharedOutputs<Output: Sendable>: @unchecked Sendable {
  private let outputs: UnsafeMutableBufferPointer<Output?>

  init(count: Int) {
    outputs = .allocate(capacity: count)
    outputs.initialize(repeating: nil)
  }

  deinit {
    outputs.deinitialize()
    outputs.deallocate()
  }

  subscript(index: Int) -> Output? {
    get { outputs[index] }
    set { outputs[index] = newValue }
  }

  /// All results, once each was written.
  var all: [Output] { outputs.compactMap { $0 } }
}
