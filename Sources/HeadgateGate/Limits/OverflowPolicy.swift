/// What happens to a request if the queue is full.
public struct OverflowPolicy: Hashable, Sendable, CustomStringConvertible {
  let sheddingRule: SheddingOrder.Rule?
  private let waits: Bool

  /// Its name, as in a program: `dropOldest`.
  public let description: String

  /// The request ends with the error ``DispatchError/Code/refused``.
  public static let refuse = OverflowPolicy(sheddingRule: nil, waits: false, description: "refuse")

  /// The caller is held until there is room: an async caller suspends, a blocking caller blocks. Meanwhile the request
  /// keeps its place in the queue. Calls that can do neither (callback forms) are refused.
  public static let wait = OverflowPolicy(sheddingRule: nil, waits: true, description: "wait")

  /// The request that has waited longest ends with the error ``DispatchError/Code/displaced``. For responses that lose
  /// value with time. If no request may wait at all, the new one is refused. O(log n).
  public static let dropOldest = OverflowPolicy(sheddingRule: .oldest, waits: false, description: "dropOldest")

  /// The request that would start last ends with the error ``DispatchError/Code/displaced``: the newest one of the
  /// lowest priority, with the aging of ``RequestPriority``. If that is the new request itself, it is refused. O(log
  /// n).
  public static let dropLowest = OverflowPolicy(sheddingRule: .lowest, waits: false, description: "dropLowest")
}
