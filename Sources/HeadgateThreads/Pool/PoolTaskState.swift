/// The state of a pool's task.
@nonexhaustive
public enum PoolTaskState: Sendable {
  /// The task is in the queue.
  case queued
  /// Its body is running.
  case running
  /// Its body has returned.
  case succeeded
  /// Its body has thrown an error.
  case failed
  /// It was cancelled, discarded or disposed of before it started, and will never run.
  case dropped
}
