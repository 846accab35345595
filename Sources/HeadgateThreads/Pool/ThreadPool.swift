/// A pool of threads that run tasks. Threads start when needed, up to the pool's size, and end after an idle time. The
/// equivalent of LSThreadPool and of Java's ThreadPoolExecutor.
///
///     let pool = try ThreadPool(name: "images", size: 4)
///     try pool.execute { shrink(first) }                       // fire and forget
///     let task = try pool.submit { try load(second) }          // a handle
///     let image = try await task.value                         // or task.wait(until: .after(.seconds(5)))
///     pool.dispose()                                           // remaining tasks run, then the threads end
///
/// **Growth.** While there are fewer threads than the pool's size, a task that finds no idle thread starts one. Only
/// then do tasks wait in the queue. (Java's ThreadPoolExecutor with an unbounded queue never grows past its core size.)
/// A thread that finds no work for the idle time ends. An unused pool has no threads and uses no processor time.
///
/// **Order.** Higher priorities first; within a priority, tasks start one after another in FIFO order.
///
/// **Wake-ups.** One worker is woken per task, the one that went to sleep last, so a quiet pool uses one thread. A
/// worker that has just run out of work stays awake for up to 50 µs (not on a single processor). If a woken worker
/// finds no task while tasks keep arriving, it checks again by itself after 200 µs instead of being woken for each
/// task. So a burst of tiny tasks costs few wake-ups, and a task behind a long one waits no longer than 200 µs for the
/// next thread.
///
/// **End.** Every accepted task ends exactly once: it runs, or its handle says why it did not. A pool that is released
/// without ``dispose(_:)`` runs the accepted tasks and then ends its threads.
///
/// Tasks may submit tasks, wait for handles of the same pool, and dispose of the pool. A submission carries neither
/// task-local values nor the priority of the Swift task that makes it, because Swift passes these to tasks only.
/// `Task(executorPreference: pool.taskExecutor)` creates such a task, and carries both.
public final class ThreadPool: Sendable {
  @usableFromInline let core: PoolCore

  /// The executor for running Swift tasks on the pool: `Task(executorPreference: pool.taskExecutor)`,
  /// `withTaskExecutorPreference`.
  public let taskExecutor: PoolTaskExecutor

  /// Creates a pool, without starting threads.
  ///
  /// - Parameters:
  ///   - name: The name of the pool and its threads, which the system may truncate; not empty.
  ///   - size: The maximum number of threads; 1 or more.
  ///   - idleTime: How long a thread waits for work before it ends; not negative. (LSThreadPool's collector took up to
  ///     25 s.)
  ///   - queueBound: How many tasks may wait beyond those for which a thread is idle or can still be started; nil for
  ///     no limit, 0 for none. Jobs of Swift tasks count, but are never refused. A bounded pool hands out its tasks one
  ///     by one, which makes it slower with tiny tasks.
  ///   - policy: What happens to a task that exceeds the bound.
  ///   - stackSize: The size of the threads' stacks in bytes; 0 for the system's default.
  ///   - onThreadStart: Called on each thread before its first task.
  ///   - onThreadEnd: Called on each thread after its last task.
  ///   - onTaskError: Called with an error of an `execute` task, on its thread; if nil, the error is logged as a
  ///     warning. The thread continues. Errors of `submit` go to the handle.
  /// - Throws: ``ThreadPoolError`` for an empty name or a number out of range. It throws instead of trapping because a
  ///   pool's numbers often come from configuration, and a user's mistake there must not stop the process.
  public convenience init(
    name: String, size: Int, idleTime: Duration = .seconds(10), queueBound: Int? = nil,
    policy: FullQueuePolicy = .block, stackSize: Int = 0, onThreadStart: (@Sendable () -> Void)? = nil,
    onThreadEnd: (@Sendable () -> Void)? = nil, onTaskError: (@Sendable (any Error) -> Void)? = nil
  ) throws(ThreadPoolError) {
    try self.init(
      PoolCore.Settings(
        name: name, size: size, idleTime: idleTime, bound: queueBound, policy: policy, stackSize: stackSize,
        threadStarted: onThreadStart, threadEnded: onThreadEnd, taskFailed: onTaskError))
  }

  init(_ settings: PoolCore.Settings, start: Int = 0) throws(ThreadPoolError) {
    guard !settings.name.isEmpty else { throw ThreadPoolError(.emptyName, pool: "") }
    guard settings.size > 0, settings.idleTime >= .zero, settings.bound ?? 0 >= 0, settings.stackSize >= 0 else {
      throw ThreadPoolError(.badArgument, pool: settings.name)
    }
    core = PoolCore(settings, start: start)
    taskExecutor = PoolTaskExecutor(core)
    DumpRegistry.add(core)
  }

  deinit {
    DumpRegistry.remove(core)
    core.dispose(now: false)
  }

  /// The pool's name.
  public var name: String { core.name }

  /// The maximum number of threads.
  public var size: Int { core.size }

  /// Changes the number of threads, even while tasks run, like ThreadPoolExecutor's setMaximumPoolSize.
  ///
  /// If tasks are waiting, more threads start at once. Surplus threads end: idle ones at once, longest idle first; busy
  /// ones after their task. No task is dropped or interrupted. Can be called from any thread. It also works on a
  /// disposed pool that still runs tasks.
  ///
  /// - Parameter size: The maximum number of threads; 1 or more.
  /// - Throws: ``ThreadPoolError`` with the code ``ThreadPoolError/Code/badArgument`` for a size below 1.
  public func setSize(_ size: Int) throws(ThreadPoolError) {
    guard size > 0 else { throw ThreadPoolError(.badArgument, pool: name) }
    core.resize(to: size)
  }

  /// Whether the calling thread belongs to the pool.
  public var isCurrent: Bool { PoolFrame.current?.worker(of: core) != nil }

  /// Whether the task on the calling thread was cancelled. A long task should check it regularly.
  ///
  /// It is the thread's own flag, so waits in this library observe it as well; the pool clears it between tasks. Always
  /// false on a thread that cannot be cancelled.
  public static var isCancelled: Bool { ThreadRecord.current.isCancelled }

  // MARK: Numbers

  /// A pool's numbers at one moment.
  public struct Statistics: Hashable, Sendable {
    /// The number of threads, including those about to start or end.
    public let threads: Int
    /// The number of idle threads.
    public let idle: Int
    /// The number of threads that are not idle: those that run a task, start or end.
    public var running: Int { threads - idle }
    /// The number of queued tasks.
    public let queued: Int
    /// The largest number of threads that have run at the same time.
    public let largest: Int
    /// The number of tasks whose bodies have returned or thrown; each job of a Swift task counts as one.
    public let completed: Int
  }

  /// The current numbers. O(size).
  public var statistics: Statistics { core.statistics }
}

extension ThreadPool {
  /// Runs `body` on a thread of the pool, without a handle.
  ///
  /// Errors of `body` go to the pool's `onTaskError` or the log. A task that never runs (see ``FullQueuePolicy`` and
  /// ``dispose(_:)``) is released without notice; use `submit` to be notified. O(1).
  ///
  /// - Parameters:
  ///   - priority: The order in which it starts, relative to other tasks of the pool.
  ///   - deadline: When to stop waiting for room. Used only by ``FullQueuePolicy/block``.
  ///   - body: The task.
  /// - Throws: ``ThreadPoolError``: the pool was disposed of, is full, or has no thread.
  public func execute(
    priority: PoolPriority = .normal, until deadline: Deadline = .distantFuture,
    _ body: sending @escaping () throws -> Void
  ) throws(ThreadPoolError) {
    try core.submit(.closure(Closure(body)), level: priority.level, until: deadline)
  }

  /// Runs `body` on a thread of the pool, and returns a handle for its result.
  ///
  /// - Parameters:
  ///   - priority: The order in which it starts, relative to other tasks of the pool.
  ///   - deadline: When to stop waiting for room. Used only by ``FullQueuePolicy/block``.
  ///   - body: The task.
  /// - Throws: ``ThreadPoolError``: the pool was disposed of, is full, or has no thread. The handle reports errors of
  ///   `body`, and a task that never runs.
  @inlinable
  public func submit<Success: Sendable, Failure: Error>(
    priority: PoolPriority = .normal, until deadline: Deadline = .distantFuture,
    _ body: sending @escaping () throws(Failure) -> Success
  ) throws(ThreadPoolError) -> PoolTask<Success, Failure> {
    let job = ResultJob(core, body: body)
    try core.submit(job, priority, until: deadline)
    return PoolTask(job)
  }

  /// Runs `body` on a thread of the pool once the queue has room for it, and returns a handle for its result. The form
  /// for Swift tasks, which must not block.
  ///
  ///     let task = try await pool.submit(waitingUntil: .after(.seconds(5))) { try load(url) }
  ///
  /// If the queue is full, the task is suspended, whatever the pool's policy. Threads and tasks wait in the same FIFO
  /// order. In a pool without a bound it is never suspended.
  ///
  /// - Parameters:
  ///   - priority: The order in which it starts, relative to other tasks of the pool. It does not affect the wait for
  ///     room.
  ///   - deadline: When to stop waiting for room.
  ///   - body: The task.
  /// - Throws: `CancellationError` if the calling task is cancelled, before or while it waits; ``ThreadPoolError`` if
  ///   the deadline passed, or if the pool was disposed of or has no thread. `body` is then released and never runs.
  @inlinable
  nonisolated(nonsending)
    public func submit<Success: Sendable, Failure: Error>(
      priority: PoolPriority = .normal, waitingUntil deadline: Deadline,
      _ body: sending @escaping () throws(Failure) -> Success
    ) async throws -> PoolTask<Success, Failure>
  {
    let job = ResultJob(core, body: body)
    try await core.submitWhenRoom(job, priority, until: deadline)
    return PoolTask(job)
  }

  /// How a pool ends.
  @nonexhaustive
  public enum Disposal: Sendable {
    /// Queued tasks run first.
    case drain
    /// Queued tasks never run: their handles end with the code ``PoolTaskErrorCode/disposed``, and closures of
    /// `execute` are released. Running tasks run to completion; their handles' `cancel` can ask them to end early. Jobs
    /// of Swift tasks continue on the global executor.
    case now
  }

  /// Disposes of the pool. Returns at once; use `waitUntilDisposed` to wait for its end.
  ///
  /// After this call the pool accepts nothing, not even from its own tasks. Submitters that wait for room get the error
  /// ``ThreadPoolError/Code/disposed``. Can be called from any thread, including the pool's tasks, any number of times:
  /// `now` after `drain` drops the tasks that have not started by then.
  public func dispose(_ disposal: Disposal = .drain) { core.dispose(now: disposal == .now) }

  /// Whether the pool was disposed of. It may still be running tasks.
  public var isDisposed: Bool { core.state.withLock { $0.isDisposed } }

  /// Blocks the calling thread until the pool has been disposed of, its tasks have ended and its threads have called
  /// `onThreadEnd`.
  ///
  /// - Parameter deadline: When to stop waiting. With a deadline in the past, the call only checks.
  /// - Throws: ``WaitError``: the deadline passed, the thread was cancelled or must not block, or it belongs to the
  ///   pool.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func waitUntilDisposed(until deadline: Deadline = .distantFuture) throws(WaitError) {
    if core.ended.tryPass() { return }
    guard !isCurrent else { throw WaitError(.wouldDeadlock, operation: core.waitForEnd) }
    try core.ended.pass(core.waitForEnd, until: deadline)
  }

  /// Suspends the task until the pool has been disposed of, its tasks have ended and its threads have called
  /// `onThreadEnd`.
  ///
  /// - Parameter deadline: When to stop waiting.
  /// - Throws: `CancellationError` if the task is cancelled; ``WaitError`` with `timedOut`.
  nonisolated(nonsending) public func waitUntilDisposed(until deadline: Deadline = .distantFuture) async throws {
    try await core.ended.pass(core.waitForEnd, until: deadline)
  }
}

/// What a pool does with a new task when its queue is full.
@nonexhaustive
public enum FullQueuePolicy: Sendable {
  /// The submitting thread waits for room, in FIFO order, until its deadline passes or it is cancelled. A task of the
  /// same pool never waits: its submissions are accepted above the bound, because waiting could deadlock the pool. A
  /// Swift task that is not on one of this library's threads must not block and gets the error
  /// ``ThreadPoolError/Code/onCooperativeThread``; see `submit(waitingUntil:_:)`.
  case block

  /// The submitter gets the error ``ThreadPoolError/Code/full`` at once.
  case `throw`

  /// The submitting thread runs the task itself, before `execute` returns. Nested submissions run in this way up to a
  /// depth of 16; deeper ones are accepted above the bound. A Swift task that is not on one of this library's threads
  /// gets the error ``ThreadPoolError/Code/onCooperativeThread`` instead, because the pool's task may block.
  case callerRuns

  /// The oldest queued task of the lowest priority is dropped with the code ``PoolTaskErrorCode/discarded``. If all
  /// queued tasks have a higher priority than the new one, the new one is dropped.
  case discardOldest
}

/// The order in which a pool starts its queued tasks.
///
/// A task starts before all queued tasks of a lower priority, and after those of its own priority that were submitted
/// earlier. It does not preempt running tasks, and the threads' own priority is not affected. There is no aging: if a
/// pool always has work of a high priority, lower ones never start.
public struct PoolPriority: Hashable, Comparable, Sendable, CustomStringConvertible {
  static let levels = 5

  let level: Int

  /// After all others.
  public static var background: PoolPriority { PoolPriority(level: 0) }
  /// After `normal`.
  public static var low: PoolPriority { PoolPriority(level: 1) }
  /// The default.
  public static var normal: PoolPriority { PoolPriority(level: 2) }
  /// Before `normal`.
  public static var high: PoolPriority { PoolPriority(level: 3) }
  /// Before all others.
  public static var urgent: PoolPriority { PoolPriority(level: 4) }

  /// Whether `left` starts later.
  public static func < (left: PoolPriority, right: PoolPriority) -> Bool { left.level < right.level }

  /// Its name.
  public var description: String { ["background", "low", "normal", "high", "urgent"][level] }
}
