/// What a pool does with a task when its queue is full.
public struct FullQueuePolicy: Hashable, Sendable, CustomStringConvertible {
  enum Kind { case block, `throw`, callerRuns, discardOldest }
  let kind: Kind

  /// The submitting thread waits until there is room, in the order in which submitters came; until its deadline, and no
  /// longer than the thread is cancelled. A task of the pool itself never waits: what it submits is taken above the bound,
  /// since the room that it would wait for may be its own to make.
  public static let block = FullQueuePolicy(kind: .block)

  /// The submitter gets an error at once: ``ThreadPoolError/Code/full``.
  public static let `throw` = FullQueuePolicy(kind: .throw)

  /// The submitting thread runs the task itself, before `execute` returns. Tasks that submit tasks nest so 16 deep; what
  /// comes from deeper is taken above the bound.
  public static let callerRuns = FullQueuePolicy(kind: .callerRuns)

  /// The oldest waiting task of the lowest priority gives way, with the code ``PoolTaskErrorCode/discarded``: if
  /// all that wait are of a higher priority than the new one, that is the new one.
  public static let discardOldest = FullQueuePolicy(kind: .discardOldest)

  /// Its name.
  public var description: String { "\(kind)" }
}
