import HeadgateThreads

/// A pause of an end-point or scope, as it begins or is extended.
public struct EndPointPause: Sendable, Hashable {
  /// The end-point whose server refused a request or could not be reached.
  public let endPoint: EndPoint
  /// The scope that pauses. Nil for the end-point itself.
  public let scope: RequestScope?
  /// Why requests wait there, as of `at`: `paused 12.0 s by 429`. Its `until` is the end of the pause.
  public let reason: WaitReason
  /// Whether the end-point counts as unreachable: requests that wait there fail.
  public let failsWaitingRequests: Bool
  /// When it began or was extended, by the gate's clock.
  public let at: Deadline
}
