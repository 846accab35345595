import HeadgateThreads

/// What becomes of an end-point that can't be reached: its name is not found, nothing accepts the connection or the
/// handshake, or no first byte comes.
///
/// After some failures in a row it sleeps, and what waits for it fails no more one by one, each after its own time-out.
/// Then one request tries. If that fails too, the end-point sleeps longer; after some such sleeps, all that waits there
/// ends as unreachable.
public struct BreakerPolicy: Hashable, Sendable {
  /// How many failures in a row send it to sleep; 1 or more. Three unless set.
  public var failures: Int

  /// How long it sleeps first. Each further sleep lasts twice as long. A second unless set.
  public var firstSleep: Duration

  /// The longest sleep. A minute unless set.
  public var longestSleep: Duration

  /// After how many sleeps, with a failed try after each, what waits ends; 1 or more. Three unless set.
  public var sleeps: Int

  /// By which part of itself a sleep is longer at most, 0 to 1. A tenth unless set.
  public var jitter: Double

  /// A policy. Values out of range are taken for the nearest that are in it.
  ///
  /// - Parameters:
  ///   - failures: How many failures in a row send the end-point to sleep.
  ///   - firstSleep: How long it sleeps first.
  ///   - longestSleep: The longest sleep.
  ///   - sleeps: After how many sleeps what waits ends.
  ///   - jitter: By which part of itself a sleep is longer at most.
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
