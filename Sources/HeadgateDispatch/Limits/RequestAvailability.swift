/// What a request would meet if it were submitted now.
///
/// It is old when it is read: others submit, too. What depends on the answer is done by the forms that ask and act in one,
/// such as ``URLDispatcher/tryDispatchLong(_:delegate:on:)``.
public struct RequestAvailability: Hashable, Sendable, CustomStringConvertible {
  private enum Value: Hashable { case runs, waits, refused }
  private let value: Value

  /// How many of its lane wait at the end-point before it; 0 for one that would run or be refused.
  public let waitingBefore: Int

  /// It would start at once.
  public static let runs = RequestAvailability(value: .runs, waitingBefore: 0)

  /// It would wait. Others of its end-point's other lane may also go before it, and so may those of other end-points
  /// whose turn it is at the total limit.
  ///
  /// - Parameter before: How many of its lane would go before it.
  public static func waits(before: Int) -> RequestAvailability {
    RequestAvailability(value: .waits, waitingBefore: before)
  }

  /// It would be refused: the dispatcher ends, or as many wait as may and the overflow policy is `refuse`.
  public static let refused = RequestAvailability(value: .refused, waitingBefore: 0)

  /// For people.
  public var description: String {
    switch value {
    case .runs: "runs"
    case .waits: "waits behind \(waitingBefore)"
    case .refused: "refused"
    }
  }
}
