/// The state of a pool's task.
public struct PoolTaskState: Hashable, Sendable, CustomStringConvertible {
  /// Its name.
  public let description: String

  /// The task is in the queue.
  public static let queued = PoolTaskState(description: "queued")
  /// Its body is running.
  public static let running = PoolTaskState(description: "running")
  /// Its body has returned.
  public static let succeeded = PoolTaskState(description: "succeeded")
  /// Its body has thrown an error.
  public static let failed = PoolTaskState(description: "failed")
  /// It was cancelled, discarded or disposed of before it started, and will never run.
  public static let dropped = PoolTaskState(description: "dropped")
}
