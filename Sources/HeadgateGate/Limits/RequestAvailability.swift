/// What would happen to a request if it were submitted now.
///
/// The answer may be outdated when it is read, because others submit requests too. To act on it, use a method that
/// checks and acts in one step, such as `URLDispatcher.tryDispatchLong(_:delegate:on:)`.
@nonexhaustive
public enum RequestAvailability: Hashable, Sendable, CustomStringConvertible {
  /// It would start at once.
  case runs

  /// It would wait, with this number of requests of the same lane ahead of it at the end-point, of any priority. Requests
  /// of the end-point's other lane may start before it, and so may requests of other end-points that have their turn at
  /// the total limit.
  case waits(before: Int)

  /// It would be refused: the dispatcher shuts down, or the queue is full and the overflow policy is `refuse`.
  case refused

  /// The number of requests of the same lane ahead of it at the end-point. 0 if it would start or be refused.
  public var waitingBefore: Int { if case .waits(let before) = self { before } else { 0 } }

  /// A readable text.
  public var description: String {
    switch self {
    case .runs: "runs"
    case .waits(let before): "waits behind \(before)"
    case .refused: "refused"
    }
  }
}
