/// What becomes of a long request that comes when the long lane has no place for it: the classic
/// `LSLongRequestLimitExceededPolicy`. The lane's limit holds under each of them.
public struct LongRequestPolicy: Hashable, Sendable, CustomStringConvertible {
  /// Its name.
  public let description: String

  /// The call throws, and nothing was submitted: as a rule, a mistake in the program that makes it.
  public static let `throw` = LongRequestPolicy(description: "throw")

  /// The request ends with the error `longLaneFull`, which its delegate hears of.
  public static let fail = LongRequestPolicy(description: "fail")

  /// The request waits in the long lane until that has a place, behind those that came before.
  public static let enqueue = LongRequestPolicy(description: "enqueue")

  /// A short request has no lane of its own to wait for.
  func patience(in lane: RequestLane) -> Scheduler<any GateClient>.Patience { lane == .long ? patience : .waits }

  var patience: Scheduler<any GateClient>.Patience { self == .enqueue ? .waits : .needsLongPlace }
}
