import HeadgateThreads

/// The wait before the next attempt: it grows exponentially up to a maximum, and a part of it is random (jitter), so
/// that callers that failed at the same moment do not retry at the same moment.
///
/// A pure value: the random numbers are passed in.
public struct Backoff: Hashable, Sendable {
  /// The longest wait before the second attempt.
  public var first: Duration

  /// The factor by which the wait grows with each further attempt.
  public var factor: Double

  /// The upper limit of the wait.
  public var maximum: Duration

  /// The random part of the wait: 1 for all of it ("full jitter", from zero to the whole wait), 0 for none.
  public var jitter: Double

  /// Creates a back-off. Values out of range are clamped.
  ///
  /// - Parameters:
  ///   - first: The longest wait before the second attempt; not negative.
  ///   - factor: The factor by which it grows with each further attempt; 1 or more.
  ///   - maximum: The upper limit of the wait; not negative.
  ///   - jitter: The random part of it, 0 to 1.
  public init(
    first: Duration = .milliseconds(100), factor: Double = 2, maximum: Duration = .seconds(20), jitter: Double = 1
  ) {
    self.first = max(first, .zero)
    self.factor = factor >= 1 ? factor : 1
    self.maximum = max(maximum, .zero)
    self.jitter = jitter >= 0 ? min(jitter, 1) : 0
  }

  /// No wait.
  public static var none: Backoff { Backoff(first: .zero) }

  /// A constant wait.
  public static func constant(_ delay: Duration) -> Backoff {
    Backoff(first: delay, factor: 1, maximum: delay, jitter: 0)
  }

  /// The longest wait after a number of failed attempts; zero for 0 and less. Saturates at ``maximum``, even after
  /// billions of attempts.
  public func longest(after attempts: Int) -> Duration {
    guard attempts > 0, first > .zero else { return .zero }
    var wait = Double(min(first, maximum).wholeNanoseconds)
    let limit = Double(maximum.wholeNanoseconds)
    // Exponentiation by squaring, and only as far as needed: a simple loop would take long after a billion attempts.
    var (power, exponent) = (factor, attempts - 1)
    while exponent > 0, wait < limit, power > 1 {
      if exponent & 1 == 1 { wait *= power }
      power *= power
      exponent >>= 1
    }
    return wait < limit ? .nanoseconds(Int64(wait)) : maximum
  }

  /// The wait after a number of failed attempts: uniformly distributed between `longest · (1 - jitter)` and `longest`.
  ///
  /// - Parameters:
  ///   - attempts: The number of failed attempts.
  ///   - random: The source of randomness.
  /// - Returns: The wait; never negative, never above ``maximum``.
  public func delay(after attempts: Int, using random: inout some RandomNumberGenerator) -> Duration {
    let longest = max(0, longest(after: attempts).wholeNanoseconds)
    // As a floating-point number, the longest possible wait may exceed an integer by one, and properties set after
    // `init` have not been validated. In these cases the wait is not shortened.
    let shortest = Int64(exactly: (Double(longest) * (1 - jitter)).rounded(.down)) ?? longest
    return .nanoseconds(Int64.random(in: max(0, min(shortest, longest))...longest, using: &random))
  }
}

/// The system's random numbers, from a generator with a non-zero size.
///
/// The standard library's generator has size zero, so a variable of that type has no memory of its own. Passed `inout`,
/// it may have the address of anything, and the thread sanitizer has mistaken two such variables, on two threads, for
/// one.
package struct SystemRandom: RandomNumberGenerator {
  private var last: UInt64 = 0

  package init() {}

  package mutating func next() -> UInt64 {
    last = .random(in: .min ... .max)
    return last
  }
}
