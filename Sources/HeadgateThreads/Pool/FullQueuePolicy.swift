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
