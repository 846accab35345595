/// What happens to a long request if the long lane is full: the classic `LSLongRequestLimitExceededPolicy`. The lane's
/// limit holds under every policy.
public struct LongRequestPolicy: Hashable, Sendable, CustomStringConvertible {
  /// The name of the policy.
  public let description: String

  /// The call throws and nothing is submitted. For programs in which a full lane is a mistake.
  public static let `throw` = LongRequestPolicy(description: "throw")

  /// The request ends with the error `longLaneFull`, which its delegate receives.
  public static let fail = LongRequestPolicy(description: "fail")

  /// The request waits for a place in the long lane, behind earlier ones.
  public static let enqueue = LongRequestPolicy(description: "enqueue")

  /// A short request never waits for the long lane.
  func patience(in lane: RequestLane) -> Scheduler<any GateClient>.Patience { lane == .long ? patience : .waits }

  var patience: Scheduler<any GateClient>.Patience { self == .enqueue ? .waits : .needsLongPlace }
}
