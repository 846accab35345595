/// Where the call of a timer runs.
public struct TimerTarget: Sendable {
  enum Kind: Sendable {
    case timerThread
    case submit(@Sendable (@escaping @Sendable () -> Void) throws -> Void)
  }

  let kind: Kind

  /// On the timer thread itself, with no hop. For short calls: all other timers of the thread wait behind them.
  public static var timerThread: TimerTarget { TimerTarget(kind: .timerThread) }

  /// Through anything that takes a closure and calls it later; for a pool, a loop and an executor there are ``pool(_:priority:)``,
  /// ``loop(_:)`` and ``executor(_:)``.
  ///
  /// `submit` is called on the timer thread and must not wait. If it throws, the error is reported and the call is not
  /// made. If the closure is let go without having been called, that is noticed too.
  public static func submitting(
    _ submit: @escaping @Sendable (@escaping @Sendable () -> Void) throws -> Void
  ) -> TimerTarget {
    TimerTarget(kind: .submit(submit))
  }

  /// In a new task on a task executor.
  public static func executor(_ executor: any TaskExecutor) -> TimerTarget {
    .submitting { call in Task(executorPreference: executor) { call() } }
  }

  /// On a thread of a pool, which lives as long as the timer does.
  ///
  /// A call that a disposed or full pool does not take is refused: reported, and told by its `onCancel`. So is one that the
  /// pool discards. The timer thread never waits for room, whatever the pool's policy; with
  /// ``FullQueuePolicy/callerRuns`` it is the caller, and a full pool's calls run on it.
  ///
  /// - Parameters:
  ///   - pool: The pool.
  ///   - priority: How soon the call starts, compared with other tasks of the pool.
  public static func pool(_ pool: ThreadPool, priority: PoolPriority = .normal) -> TimerTarget {
    .submitting { call in try pool.execute(priority: priority, until: .distantPast) { call() } }
  }
}
