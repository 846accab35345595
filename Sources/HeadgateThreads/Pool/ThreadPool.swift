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
