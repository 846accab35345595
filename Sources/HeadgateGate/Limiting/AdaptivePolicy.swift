/// How the limits of an end-point are learned from its refusals. See ``GateLimits/adaptive``.
///
/// A new end-point begins with few concurrent requests. As long as it refuses none, the number grows, up to the
/// configured limit. A refusal (429, or 503 and 403 as ``PausePolicy`` counts them) lowers either the number of
/// concurrent requests or the number of starts in a second, depending on which was exceeded. Then the limit rises again
/// quickly to just below the refused value. Higher values are tried only occasionally, since each try may be refused.
/// Latency is not used: a slow server is not an overloaded one.
///
/// A configured rate or number is never exceeded.
public struct AdaptivePolicy: Hashable, Sendable {
  /// The initial number of concurrent requests at an unknown end-point, 1 or more. 1 by default.
  public var initialRequests: Int

  /// The fraction of a limit that remains after a refusal, 0.1 to 0.95. 0.7 by default.
  public var decrease: Double

  /// The minimum number of responses for each refusal before a value that was not accepted recently is tried, 1 or
  /// more. 80 by default: learning costs a little more than one refused request in a hundred.
  public var responsesPerRefusal: Int

  /// How long learned limits are kept while nothing runs at the end-point, and how soon ``LearnedLimits`` expire. Ten
  /// minutes by default.
  public var memory: Duration

  /// The limits learned by an earlier gate or process. None by default.
  public var remembered: LearnedLimits

  /// Creates a policy. Values out of range are replaced by the nearest valid ones.
  ///
  /// - Parameters:
  ///   - initialRequests: The initial number of concurrent requests at an unknown end-point.
  ///   - decrease: The fraction of a limit that remains after a refusal.
  ///   - responsesPerRefusal: The minimum number of responses for each refusal.
  ///   - memory: How long learned limits are kept.
  ///   - remembered: The limits learned before.
  public init(
    initialRequests: Int = 1, decrease: Double = 0.7, responsesPerRefusal: Int = 80, memory: Duration = .seconds(600),
    remembered: LearnedLimits = LearnedLimits()
  ) {
    self.initialRequests = initialRequests
    self.decrease = decrease
    self.responsesPerRefusal = responsesPerRefusal
    self.memory = memory
    self.remembered = remembered
  }

  var keptShare: Double { decrease > 0.1 ? min(decrease, 0.95) : 0.1 }
  var keptResponses: Int { min(max(1, responsesPerRefusal), 1_000_000) }
}
