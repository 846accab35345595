/// Threads that run tasks: named, started as they are needed, never more than its size, ended when they have been idle
/// for a while. The classic LSThreadPool, Java's ThreadPoolExecutor.
///
///     let pool = try ThreadPool(name: "images", size: 4)
///     try pool.execute { shrink(first) }                       // fire and forget
///     let task = try pool.submit { try load(second) }          // a handle
///     let image = try await task.value                         // or task.wait(until: .after(.seconds(5)))
///     pool.dispose()                                           // the rest runs, the threads end
///
/// **Growth.** While there are fewer threads than its size, a task for which no thread is free starts one; only then do
/// tasks wait in the queue. (Java's ThreadPoolExecutor with an unbounded queue never grows past its core size.) A
/// thread that has found nothing to do for the idle time ends; a pool that is left alone has none, and uses no processor
/// time.
///
/// **Order.** Higher priorities first; within one, tasks start in the order of submission. Very short tasks are taken
/// by the handful, so that on several threads one may start a few microseconds after the next.
///
/// **Wake-ups.** One worker is woken for one task, the last that went to sleep: a quiet pool uses one thread. A worker that
/// has just run dry stays awake for up to 50 µs (not on one processor), and after a wake-up for nothing one worker looks
/// again by itself after 100 to 400 µs instead of being woken for each task, as long as tasks keep coming. So a burst of
/// tiny tasks costs few wake-ups, and a task behind a long one waits no longer than that for the next thread.
///
/// **Ends.** Every task that was accepted ends once: it runs, or its handle says why not. A pool that is dropped without
/// ``dispose(_:)`` runs what it has accepted and ends its threads.
///
/// Tasks may submit tasks, wait for handles of the same pool, and dispose of the pool.
public final class ThreadPool: Sendable {
  @usableFromInline let core: PoolCore

  /// The pool for tasks of Swift's: `Task(executorPreference: pool.taskExecutor)`, `withTaskExecutorPreference`.
  public let taskExecutor: PoolTaskExecutor

  /// A pool without threads yet.
  ///
  /// - Parameters:
  ///   - name: The name of the pool and its threads, which the system may cut; not empty.
  ///   - size: The most threads at a time; 1 or more.
  ///   - idleTime: How long a thread waits for work before it ends; not negative. The classic pool's collector took up to
  ///     25 s.
  ///   - queueBound: How many tasks may wait beyond those for which a thread is free or can still be started; nil for any
  ///     number, 0 for none. Pieces of Swift tasks count, but are never refused. A bounded pool hands its tasks out one by
  ///     one, which costs it speed with tiny tasks.
  ///   - policy: What happens to a task when so many wait.
  ///   - stackSize: The threads' stacks, in bytes; 0 for the system's default.
  ///   - onThreadStart: Called on each thread before its first task.
  ///   - onThreadEnd: Called on each thread after its last task.
  ///   - onTaskError: Called with what a task of `execute` throws, on its thread; nil for a warning in the log. The thread
  ///     goes on. Errors of `submit` go to the handle.
  /// - Throws: ``ThreadPoolError`` for an empty name or a number out of range.
  public convenience init(
    name: String, size: Int, idleTime: Duration = .seconds(10), queueBound: Int? = nil,
    policy: FullQueuePolicy = .block, stackSize: Int = 0, onThreadStart: (@Sendable () -> Void)? = nil,
    onThreadEnd: (@Sendable () -> Void)? = nil, onTaskError: (@Sendable (any Error) -> Void)? = nil
  ) throws(ThreadPoolError) {
    var settings = PoolCore.Settings(name: name, size: size)
    settings.idleTime = idleTime
    settings.bound = queueBound
    settings.policy = policy
    settings.stackSize = stackSize
    settings.threadStarted = onThreadStart
    settings.threadEnded = onThreadEnd
    settings.taskFailed = onTaskError
    try self.init(settings)
  }

  init(_ settings: PoolCore.Settings, start: Int = 0) throws(ThreadPoolError) {
    guard !settings.name.isEmpty else { throw ThreadPoolError(.emptyName, pool: "") }
    guard settings.size > 0, settings.idleTime >= .zero, settings.bound ?? 0 >= 0, settings.stackSize >= 0 else {
      throw ThreadPoolError(.badArgument, pool: settings.name)
    }
    core = PoolCore(settings, start: start)
    taskExecutor = PoolTaskExecutor(core)
  }

  deinit { core.dispose(now: false) }

  /// The name that it was given.
  public var name: String { core.name }

  /// The most threads.
  public var size: Int { core.settings.size }

  /// Whether the calling thread is one of the pool's.
  public var isCurrent: Bool { PoolFrame.current?.worker(of: core) != nil }

  /// Whether the task that runs on the calling thread was asked to end: what a long task looks at now and then.
  ///
  /// It is the calling thread's own flag, so waits in this library see it as well; the pool clears it between tasks. False
  /// on a thread that nobody cancels.
  public static var isCancelled: Bool { ThreadRecord.current.isCancelled }

  // MARK: Numbers

  /// A pool's numbers at one moment.
  public struct Statistics: Hashable, Sendable {
    /// Its threads, those included that are about to start or to end.
    public let threads: Int
    /// The threads that have nothing to do.
    public let idle: Int
    /// The tasks that wait.
    public let queued: Int
    /// The most threads that it ever had.
    public let largest: Int
    /// The tasks whose bodies have come to their end, with a result or an error; pieces of Swift tasks count each.
    public let completed: Int
  }

  /// The numbers at this moment. O(size).
  public var statistics: Statistics { core.statistics }
}
