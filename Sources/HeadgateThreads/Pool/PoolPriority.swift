/// How soon a task of a pool starts, compared with others that wait in the same pool.
///
/// A task starts before all waiting ones of a lower priority, and after those of its own that were submitted before it.
/// It interrupts nothing: a running task keeps its thread, and threads have no priority of their own. Nothing ages: a
/// pool that is never without work of a high priority never comes to the lower ones.
public struct PoolPriority: Hashable, Comparable, Sendable, CustomStringConvertible {
  static let levels = 5

  let level: Int

  /// Behind everything else.
  public static var background: PoolPriority { PoolPriority(level: 0) }
  /// Behind `normal`.
  public static var low: PoolPriority { PoolPriority(level: 1) }
  /// What a task has if nothing is said.
  public static var normal: PoolPriority { PoolPriority(level: 2) }
  /// Before `normal`.
  public static var high: PoolPriority { PoolPriority(level: 3) }
  /// Before everything else.
  public static var urgent: PoolPriority { PoolPriority(level: 4) }

  /// Whether `left` starts later.
  public static func < (left: PoolPriority, right: PoolPriority) -> Bool { left.level < right.level }

  /// Its name.
  public var description: String { ["background", "low", "normal", "high", "urgent"][level] }
}
