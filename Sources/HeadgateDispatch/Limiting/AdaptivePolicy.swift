/// How an end-point's limits are learned from its refusals: see ``GateLimits/adaptive``.
///
/// An end-point that is new begins with few requests at once. As long as it refuses none, more may run, up to its configured
/// limit. A refusal (429, or 503 and 403 as ``PausePolicy`` counts them) lowers either how many run at once or how many start in
/// a second, whichever was refused. Then the limit rises again, quickly to just below what was refused and beyond that only
/// now and then, since each such try may be refused. Latency says nothing here: a slow server is not a full one.
///
/// A rate or a number that was configured is never exceeded.
public struct AdaptivePolicy: Hashable, Sendable {
  /// How many may run at once at an end-point of which nothing is known; 1 or more. 1 unless set.
  public var firstRequests: Int

  /// What a refusal leaves of a limit, 0.1 to 0.95. 0.7 unless set.
  public var decrease: Double

  /// For one refusal there are to be so many answers at least, before a limit is tried that was not accepted lately; 1 or
  /// more. 80 unless set: a little more than one request in a hundred is refused for learning's sake.
  public var answersPerRefusal: Int

  /// For how long what was learned of an end-point is kept when nothing runs there, and how soon ``LearnedLimits`` expire.
  /// Ten minutes unless set.
  public var memory: Duration

  /// What was learned by an earlier gate or process. None unless set.
  public var remembered: LearnedLimits

  /// A policy. Values out of range are taken for the nearest that are in it.
  ///
  /// - Parameters:
  ///   - firstRequests: How many at once at an end-point of which nothing is known.
  ///   - decrease: What a refusal leaves of a limit.
  ///   - answersPerRefusal: How many answers there are to be for each refusal, at least.
  ///   - memory: For how long what was learned is kept.
  ///   - remembered: What was learned before.
  public init(
    firstRequests: Int = 1, decrease: Double = 0.7, answersPerRefusal: Int = 80, memory: Duration = .seconds(600),
    remembered: LearnedLimits = LearnedLimits()
  ) {
    self.firstRequests = firstRequests
    self.decrease = decrease
    self.answersPerRefusal = answersPerRefusal
    self.memory = memory
    self.remembered = remembered
  }

  var keptShare: Double { decrease > 0.1 ? min(decrease, 0.95) : 0.1 }
  var keptAnswers: Int { min(max(1, answersPerRefusal), 1_000_000) }
}
