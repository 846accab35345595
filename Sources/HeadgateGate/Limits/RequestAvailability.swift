/// What would happen to a request if it were submitted now.
///
/// The answer may be outdated when it is read, because others submit requests too. To act on it, use a method that
/// checks and acts in one step, such as `URLDispatcher.tryDispatchLong(_:delegate:on:)`.
public struct RequestAvailability: Hashable, Sendable, CustomStringConvertible {
  private enum Value: Hashable { case runs, waits, refused }
  private let value: Value

  /// The number of requests of the same lane ahead of it at the end-point. 0 if it would start or be refused.
  public let waitingBefore: Int

  /// It would start at once.
  public static let runs = RequestAvailability(value: .runs, waitingBefore: 0)

  /// It would wait. Requests of the end-point's other lane may start before it, and so may requests of other end-points
  /// that have their turn at the total limit.
  ///
  /// - Parameter before: The number of requests of the same lane ahead of it.
  public static func waits(before: Int) -> RequestAvailability {
    RequestAvailability(value: .waits, waitingBefore: before)
  }

  /// It would be refused: the dispatcher shuts down, or the queue is full and the overflow policy is `refuse`.
  public static let refused = RequestAvailability(value: .refused, waitingBefore: 0)

  /// A readable text.
  public var description: String {
    switch value {
    case .runs: "runs"
    case .waits: "waits behind \(waitingBefore)"
    case .refused: "refused"
    }
  }
}
