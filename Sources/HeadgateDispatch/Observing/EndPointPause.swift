import HeadgateThreads

/// A pause of an end-point or a scope, as it begins or becomes longer.
public struct EndPointPause: Sendable, Hashable {
  /// The end-point whose server refused a request or could not be reached.
  public let endPoint: EndPoint
  /// The scope that pauses; nil: the end-point itself.
  public let scope: RequestScope?
  /// Why requests wait there, as of `at`: `paused 12.0 s by 429`. Its `until` is the end of the pause.
  public let reason: WaitReason
  /// Whether it was given up: what waits there fails instead of waiting.
  public let isGivenUp: Bool
  /// When it began or became longer, by the dispatcher's clock.
  public let at: Deadline

  init(_ endPoint: EndPoint, _ scope: RequestScope?, _ reason: WaitReason, isGivenUp: Bool, at moment: Deadline) {
    self.endPoint = endPoint
    self.scope = scope
    self.reason = reason
    self.isGivenUp = isGivenUp
    at = moment
  }
}
