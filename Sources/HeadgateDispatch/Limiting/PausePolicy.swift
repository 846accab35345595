import HeadgateThreads

/// For how long a whole end-point pauses that has refused a request: with 429, with 503, or with 403 and a wait.
///
/// While it pauses nothing starts there, other end-points go on, and what waits uses up neither attempts nor a retry budget.
/// After it one request goes alone. With its answer two may run, then four, and so on until the limits alone hold again. At an
/// end-point that refuses again, requests keep a distance from then on.
///
/// A burst is refused once: what was under way when the pause began makes it no longer.
public struct PausePolicy: Hashable, Sendable {
  /// The longest pause, whatever a server asks for. Ten minutes unless set.
  public var longest: Duration

  /// The first pause where the server does not say for how long. Each one that follows before the end-point has
  /// recovered lasts twice as long. A second unless set.
  public var firstStep: Duration

  /// By which part of itself a pause is longer at most, 0 to 1: many programs that were refused together do not come
  /// back together. Never shorter, and never above ``longest``. A tenth unless set.
  public var jitter: Double

  /// Of how many answers the last ones with 503 and no wait are counted, 1 to 64. Ten unless set.
  public var answers: Int

  /// How many of them have to be such before the end-point pauses: a single address that always says 503 must not stop
  /// its host. Three unless set.
  public var unavailable: Int

  /// A policy. Values out of range are taken for the nearest that are in it.
  ///
  /// - Parameters:
  ///   - longest: The longest pause; not negative.
  ///   - firstStep: The first pause where the server does not say for how long; not negative.
  ///   - jitter: By which part of itself a pause is longer at most.
  ///   - unavailable: How many of the last answers were 503 with no wait before the end-point pauses for them.
  ///   - answers: Of how many, 1 to 64.
  public init(
    longest: Duration = .seconds(600), firstStep: Duration = .seconds(1), jitter: Double = 0.1,
    unavailable: Int = 3, of answers: Int = 10
  ) {
    self.longest = longest
    self.firstStep = firstStep
    self.jitter = jitter
    self.answers = answers
    self.unavailable = unavailable
  }

  /// How long to pause, in nanoseconds.
  ///
  /// - Parameters:
  ///   - asked: What the server asks for; nothing, zero and less are no wishes.
  ///   - pauses: How many pauses went before with no recovery in between.
  ///   - random: For the jitter.
  func nanoseconds(asked: Duration?, after pauses: Int, using random: inout some RandomNumberGenerator) -> Int64 {
    let most = max(0, longest.wholeNanoseconds)
    let wait = asked.map(\.wholeNanoseconds).flatMap { $0 > 0 ? $0 : nil }
    return min(Self.later(wait ?? Self.doubled(firstStep, pauses), jitter, using: &random), most)
  }

  /// A wait that is doubled so many times; saturates.
  static func doubled(_ first: Duration, _ times: Int) -> Int64 {
    let (product, overflow) = max(0, first.wholeNanoseconds)
      .multipliedReportingOverflow(by: 1 << Int64(min(max(0, times), 62)))
    return overflow ? .max : product
  }

  /// A wait with jitter, which only adds; saturates.
  static func later(_ wait: Int64, _ jitter: Double, using random: inout some RandomNumberGenerator) -> Int64 {
    // Not a number is no jitter.
    let part = jitter > 0 ? min(jitter, 1) : 0
    // 2^62 is far below what overflows, and longer than anybody waits.
    let most = Int64(Double(min(wait, 1 << 62)) * part)
    guard most > 0 else { return wait }
    let (sum, overflow) = wait.addingReportingOverflow(.random(in: 0...most, using: &random))
    return overflow ? .max : sum
  }
}
