/// What happens to a long request if the long lane is full: the classic `LSLongRequestLimitExceededPolicy`. The lane's
/// limit holds under every policy.
public struct LongRequestPolicy: Hashable, Sendable, CustomStringConvertible {
  /// The name of the policy.
  public let description: String

  /// The call throws `longLaneFull`, and nothing is submitted. For programs in which a full lane is a mistake. `dispatch`
  /// does not throw: its completion gets the error.
  public static let `throw` = LongRequestPolicy(description: "throw")

  /// The request ends with the error `longLaneFull`. Its delegate or completion receives the error; a method without
  /// either throws it.
  public static let fail = LongRequestPolicy(description: "fail")

  /// The request waits for a place in the long lane, behind earlier ones. The default, except for `dispatchLong` with a
  /// delegate.
  public static let enqueue = LongRequestPolicy(description: "enqueue")

  /// A short request never waits for the long lane.
  func patience(in lane: RequestLane) -> Patience { lane == .long ? patience : .waits }

  var patience: Patience { self == .enqueue ? .waits : .needsLongPlace }
}
