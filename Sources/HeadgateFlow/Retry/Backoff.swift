import HeadgateThreads

/// How long to wait before the next attempt: exponentially longer each time, up to a maximum, and a random part of that,
/// so that many who failed at the same moment don't come back at the same moment.
///
/// A pure value: the random numbers come from outside.
public struct Backoff: Hashable, Sendable {
  /// The longest wait before the second attempt.
  public var first: Duration

  /// How many times longer it is before each further one.
  public var factor: Double

  /// The longest wait of all.
  public var maximum: Duration

  /// Which part of the wait is random: 1 for all of it ("full jitter", from nothing to the whole wait), 0 for none.
  public var jitter: Double

  /// A back-off. Values out of range are taken for the nearest that are in it.
  ///
  /// - Parameters:
  ///   - first: The longest wait before the second attempt; not negative.
  ///   - factor: How many times longer it is before each further one; 1 or more.
  ///   - maximum: The longest wait of all; not negative.
  ///   - jitter: Which part of it is random, 0 to 1.
  public init(
    first: Duration = .milliseconds(100), factor: Double = 2, maximum: Duration = .seconds(20), jitter: Double = 1
  ) {
    self.first = max(first, .zero)
    self.factor = factor >= 1 ? factor : 1
    self.maximum = max(maximum, .zero)
    self.jitter = jitter >= 0 ? min(jitter, 1) : 0
  }

  /// No wait at all.
  public static var none: Backoff { Backoff(first: .zero) }

  /// Always the same wait.
  public static func constant(_ delay: Duration) -> Backoff {
    Backoff(first: delay, factor: 1, maximum: delay, jitter: 0)
  }

  /// The longest wait after so many failed attempts; none for 0 and less. Saturates at ``maximum``, also after billions.
  public func longest(after attempts: Int) -> Duration {
    guard attempts > 0, first > .zero else { return .zero }
    var wait = Double(min(first, maximum).wholeNanoseconds)
    let limit = Double(maximum.wholeNanoseconds)
    // By squaring, and only as far as it matters: a loop of doublings would be long after a billion attempts.
    var (power, exponent) = (factor, attempts - 1)
    while exponent > 0, wait < limit, power > 1 {
      if exponent & 1 == 1 { wait *= power }
      power *= power
      exponent >>= 1
    }
    return wait < limit ? .nanoseconds(Int64(wait)) : maximum
  }

  /// The wait after so many failed attempts: evenly distributed between `longest · (1 - jitter)` and `longest`.
  ///
  /// - Parameters:
  ///   - attempts: How many have failed.
  ///   - random: Where the chance comes from.
  /// - Returns: The wait; never negative, never above ``maximum``.
  public func delay(after attempts: Int, using random: inout some RandomNumberGenerator) -> Duration {
    let longest = max(0, longest(after: attempts).wholeNanoseconds)
    // As a floating-point number the longest wait of all may be one more than an integer holds, and what was set later
    // is not looked at before: then the wait is not shortened.
    let shortest = Int64(exactly: (Double(longest) * (1 - jitter)).rounded(.down)) ?? longest
    return .nanoseconds(Int64.random(in: max(0, min(shortest, longest))...longest, using: &random))
  }
}
