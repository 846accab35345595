import HeadgateThreads

/// A circuit breaker for end-points that can't be reached: the name is not found, the connection or the TLS handshake
/// fails, or no first byte arrives.
///
/// After a number of consecutive failures the end-point is suspended (no request starts there), so that waiting
/// requests don't fail one by one, each after its own timeout. Then one request is sent as a probe. If it fails too,
/// the end-point is suspended for longer. After a number of failed probes, all waiting requests fail with `unreachable`.
public struct BreakerPolicy: Hashable, Sendable {
  /// The number of consecutive failures before the end-point is suspended, 1 or more. Three by default.
  public var failures: Int

  /// The length of the first suspension. Each further one lasts twice as long. One second by default.
  public var initialSuspension: Duration

  /// The longest suspension. One minute by default.
  public var maxSuspension: Duration

  /// The number of consecutive failed probes, each after a suspension, before waiting requests fail; 1 or more. Three
  /// by default.
  public var probes: Int

  /// The maximum fraction by which a suspension is randomly extended, 0 to 1. 0.1 by default.
  public var jitter: Double

  /// Creates a policy. Values out of range are replaced by the nearest valid ones.
  ///
  /// - Parameters:
  ///   - failures: The number of consecutive failures before the end-point is suspended.
  ///   - initialSuspension: The length of the first suspension.
  ///   - maxSuspension: The longest suspension.
  ///   - probes: The number of consecutive failed probes before waiting requests fail.
  ///   - jitter: The maximum fraction by which a suspension is randomly extended.
  public init(
    failures: Int = 3, initialSuspension: Duration = .seconds(1), maxSuspension: Duration = .seconds(60),
    probes: Int = 3, jitter: Double = 0.1
  ) {
    self.failures = failures
    self.initialSuspension = initialSuspension
    self.maxSuspension = maxSuspension
    self.probes = probes
    self.jitter = jitter
  }

  func nanoseconds(after suspensions: Int, using random: inout some RandomNumberGenerator) -> Int64 {
    let most = max(0, maxSuspension.wholeNanoseconds)
    return min(PausePolicy.later(PausePolicy.doubled(initialSuspension, suspensions), jitter, using: &random), most)
  }
}
