/// What happens to a request that comes when as many wait as may.
public struct OverflowPolicy: Hashable, Sendable {
  private enum Value { case refuse, wait, dropOldest, dropLowest }
  private let value: Value

  /// It ends with the error ``DispatchError/Code/refused``.
  public static let refuse = OverflowPolicy(value: .refuse)

  /// Its caller is held until there is room: an async caller suspends, a blocking one blocks. The request keeps its
  /// place in the queue meanwhile. Calls that can do neither (callback forms) are refused.
  public static let wait = OverflowPolicy(value: .wait)

  /// The request that has waited longest ends with the error ``DispatchError/Code/displaced``: for answers that are worth
  /// less the later they come. Where none may wait at all, the newcomer is refused. O(log n).
  public static let dropOldest = OverflowPolicy(value: .dropOldest)

  /// The request whose turn would come last ends with the error ``DispatchError/Code/displaced``: of the least urgent the
  /// youngest, with the ageing of ``RequestPriority``. Where that is the newcomer itself, it is refused. O(log n).
  public static let dropLowest = OverflowPolicy(value: .dropLowest)

  var sheddingRule: SheddingOrder.Rule? {
    switch value {
    case .refuse, .wait: nil
    case .dropOldest: .oldest
    case .dropLowest: .lowest
    }
  }
}
