extension EndPointGate {
  /// The number of permits held and of requests waiting, the highest number of permits held so far at one end-point, and
  /// how often end-points refused.
  public var counts: GateCounts {
    state.withLock { state in
      GateCounts(
        running: state.scheduler.running, waiting: state.scheduler.waiting,
        endPoints: state.scheduler.endPoints.busyCount, peak: state.scheduler.peak.running,
        peakEndPoint: state.scheduler.peak.endPoint, refusals: state.scheduler.troubles.refusals,
        pauses: state.scheduler.troubles.pauses)
    }
  }
}

/// Counts of a gate's activity.
public struct GateCounts: Sendable, Hashable {
  /// Permits held, at all end-points.
  public let running: Int
  /// Requests that wait for a permit.
  public let waiting: Int
  /// End-points where a request runs or waits.
  public let endPoints: Int
  /// The highest number of permits held at a time at one end-point, since the gate was created.
  public let peak: Int
  /// The end-point of ``peak``. Nil before the first permit.
  public let peakEndPoint: EndPoint?
  /// Responses that refused a request or said that the server is unavailable, such as 429 and 503, and reports of the
  /// same by holders of permits. Counted while the limits have ``GateLimits/pauses``, a breaker or adaptive limits.
  public let refusals: Int
  /// Pauses of end-points and scopes that began or were extended.
  public let pauses: Int
}
