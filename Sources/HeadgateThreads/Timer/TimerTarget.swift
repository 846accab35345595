/// Where the call of a timer runs.
public struct TimerTarget: Sendable {
  enum Kind: Sendable {
    case timerThread
    case submit(@Sendable (@escaping @Sendable () -> Void) throws -> Void)
  }

  let kind: Kind

  /// On the timer thread itself, with no hop. For short calls: all other timers of the thread wait behind them.
  public static var timerThread: TimerTarget { TimerTarget(kind: .timerThread) }

  /// Through anything that takes a closure and calls it later: `.submitting { pool.execute($0) }`, a loop's `perform`.
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
}
