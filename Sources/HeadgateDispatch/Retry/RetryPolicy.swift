import HTTPTypes
import HeadgateFlow
import HeadgateThreads

/// When a request that failed is sent again, and after how long.
///
///     request.retry = RetryPolicy(attempts: 4)
///
/// Sent again is what the network lost and what a server puts off (408, 429, 502, 503, 504), where that can't do a thing
/// twice: methods that may be repeated by RFC 9110 section 9.2.2, or any with an `Idempotency-Key` field; with a body only
/// if it ``RequestBody/canBeSentAgain``, else the failure itself is told. An attempt that ran into its `connectTimeout` or
/// `idleTimeout` is lost to the network too; a request that ran into its `timeout` or `deadline`, which hold for all attempts
/// together, has no time for another.
///
/// A response that breaks off after its head is sent again as long as its caller has seen nothing of it: where it is gathered
/// in memory (``URLDispatcher/data(for:lane:policy:)``, completions, blocking calls), and where it goes to a
/// file, which is begun anew. The head of a stream, and what a delegate hears, have been handed on: nothing is sent again
/// after those.
///
/// What met a connection that was kept open and turned out to be closed (``DispatchRequest/retry``) is sent again at
/// once and once, with no wait: that is one of the ``attempts``, takes nothing from the ``budget``, and is never done
/// with methods that may not be repeated, whatever ``repeatsUnsafeMethods`` says; those are sent again by the policy's
/// own rules.
///
/// Where the whole end-point pauses (``GateLimits/pauses``) or sleeps (``GateLimits/breaker``), a request that is sent again
/// does not wait by itself: it goes back to the queue, and waits there like those that were never sent. The pause costs
/// them no attempt, and nothing of the ``budget``.
///
/// While it waits for its next attempt a request holds no permit: others go on. It comes back with the age of its
/// submission, also to a queue that is full. Its `deadline` and its `timeout` hold for
/// all attempts together, and a wait that would outlast the deadline is not begun.
public struct RetryPolicy: Sendable {
  /// How many times a request is sent at most, the first time included; 1 or less never sends it again.
  public var attempts: Int

  /// How long it waits between two attempts. A `Retry-After` field of the server makes it longer, never shorter.
  public var backoff: Backoff

  /// What keeps all requests together from multiplying the load on a server that is down; nil for no such bound.
  public var budget: RetryBudget?

  /// The statuses that mean "ask again".
  public var statusCodes: Set<Int> = [408, 429, 502, 503, 504]

  /// Whether methods that may not be repeated are sent again too: POST and PATCH. For servers that can tell.
  public var repeatsUnsafeMethods = false

  /// The longest `Retry-After` that a request waits for by itself: what asks for more gets no further attempt. A minute
  /// unless set. Where the end-point pauses, ``PausePolicy/longest`` holds instead: the request waits in the queue like all
  /// others there, and its `deadline` alone bounds that.
  public var longestRetryAfter: Duration = .seconds(60)

  /// Whether `Retry-After` is not read at all: the ``backoff`` alone says how long to wait.
  public var ignoresRetryAfter = false

  /// A policy.
  ///
  /// - Parameters:
  ///   - attempts: How many times a request is sent at most.
  ///   - backoff: How long it waits in between: from 100 ms doubling up to 20 s with full jitter, unless given.
  ///   - budget: One for all requests with this policy and its copies, which lets retries add 10 % to the load, unless
  ///     given.
  public init(attempts: Int = 3, backoff: Backoff = Backoff(), budget: RetryBudget? = RetryBudget()) {
    self.attempts = attempts
    self.backoff = backoff
    self.budget = budget
  }

  /// Whether a request may be sent twice.
  func mayRepeat(_ request: DispatchRequest) -> Bool {
    request.hasReplayableBody && (repeatsUnsafeMethods || request.isIdempotent)
  }

  /// Whether a failure may be over by the next attempt.
  func isPassing(_ error: DispatchError) -> Bool {
    switch error.code {
    case .nameNotResolved, .connectFailed, .connectTimedOut, .connectionLost, .idleTimedOut: true
    default: false
    }
  }

  /// The wait before the next attempt; nil: there is none. Takes from the budget only if there is one.
  ///
  /// - Parameters:
  ///   - made: How many attempts were made.
  ///   - asked: What the server asked for.
  ///   - asleep: For how long its end-point lets nothing start. It waits for that in the queue, and not by itself.
  ///   - left: How much time the deadline leaves.
  func wait(
    after made: Int, asked: Duration?, asleep: Duration? = nil, left: Duration?,
    using random: inout some RandomNumberGenerator
  ) -> Duration? {
    guard made < attempts, asleep != nil || asked.map({ $0 <= longestRetryAfter }) ?? true else { return nil }
    let wait = asleep ?? max(backoff.delay(after: made, using: &random), asked ?? .zero)
    guard left.map({ wait < $0 }) ?? true else { return nil }
    // The end of a sleep paces all that wait for it: the budget is for end-points that nothing else protects.
    guard asleep != nil || budget?.withdraw() ?? true else { return nil }
    return asleep == nil ? wait : .zero
  }
}

extension DispatchRequest {
  /// Whether it means the same however often it is sent: by its method (RFC 9110 section 9.2.2), or because it says so.
  package var isIdempotent: Bool {
    switch method.rawValue {
    case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY": true
    // An empty key names no request.
    default: Self.idempotencyKey.flatMap { headerFields[$0] }?.contains { $0 != " " && $0 != "\t" } ?? false
    }
  }

  private static let idempotencyKey = HTTPField.Name("Idempotency-Key")

  /// Whether it may be sent again though nobody knows whether the server has seen it.
  package var mayBeRepeated: Bool { isIdempotent && hasReplayableBody }

  /// Whether its body, if it has one, can be had again.
  var hasReplayableBody: Bool { body?.isReplayable ?? true }
}
