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
