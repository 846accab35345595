import HeadgateThreads

/// A circuit breaker for end-points that can't be reached: the name is not found, the connection or the TLS handshake
/// fails, or no first byte arrives.
///
/// After a number of consecutive failures the end-point sleeps (no request starts there), so that waiting requests
/// don't fail one by one, each after its own timeout. Then one request is sent as a probe. If it fails too, the
/// end-point sleeps longer. After a number of such sleeps, all waiting requests fail with `unreachable`.
public struct BreakerPolicy: Hashable, Sendable {
  /// The number of consecutive failures before the end-point sleeps, 1 or more. Three by default.
  public var failures: Int

  /// The length of the first sleep. Each further sleep lasts twice as long. One second by default.
  public var firstSleep: Duration

  /// The longest sleep. One minute by default.
  public var longestSleep: Duration

  /// The number of sleeps, each followed by a failed probe, before waiting requests fail; 1 or more. Three by default.
  public var sleeps: Int

  /// The maximum fraction by which a sleep is randomly extended, 0 to 1. 0.1 by default.
  public var jitter: Double

  /// Creates a policy. Values out of range are replaced by the nearest valid ones.
  ///
  /// - Parameters:
  ///   - failures: The number of consecutive failures before the end-point sleeps.
  ///   - firstSleep: The length of the first sleep.
  ///   - longestSleep: The longest sleep.
  ///   - sleeps: The number of sleeps before waiting requests fail.
  ///   - jitter: The maximum fraction by which a sleep is randomly extended.
  public init(
    failures: Int = 3, firstSleep: Duration = .seconds(1), longestSleep: Duration = .seconds(60), sleeps: Int = 3,
    jitter: Double = 0.1
  ) {
    self.failures = failures
    self.firstSleep = firstSleep
    self.longestSleep = longestSleep
    self.sleeps = sleeps
    self.jitter = jitter
  }

  func nanoseconds(after sleeps: Int, using random: inout some RandomNumberGenerator) -> Int64 {
    let most = max(0, longestSleep.wholeNanoseconds)
    return min(PausePolicy.later(PausePolicy.doubled(firstSleep, sleeps), jitter, using: &random), most)
  }
}
