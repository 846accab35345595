import HTTPTypes
import HeadgateFlow
import HeadgateThreads

/// When a failed request is sent again, and how long it waits first.
///
///     request.retry = RetryPolicy(attempts: 4)
///
/// A request is sent again after a network failure and after one of the ``statusCodes``, if that can't cause a duplicate
/// action: with a method that RFC 9110 section 9.2.2 defines as idempotent, with an `Idempotency-Key` field, or if the
/// request was not processed (``Repeats/unprocessed``). A request with a body is sent again only if the body
/// ``RequestBody/canBeSentAgain``; otherwise the failure is delivered. An expired `connectTimeout` or `idleTimeout`
/// counts as a network failure. After an expired `timeout` or `deadline`, which cover all attempts together, there is
/// no time for another attempt.
///
/// A request whose response breaks off after its head is retried if the caller has received none of that response. This
/// is the case for a response collected in memory (``URLDispatcher/data(for:lane:policy:)``, completions, blocking
/// calls), and for a file. A file is continued where the response broke off, with `Range` and `If-Range`, if the server
/// names the version with a strong `ETag`; otherwise it is written from the start again. The head of a stream and the calls of a delegate have
/// been delivered, so those requests are not retried after the head.
///
/// A request whose reused connection turns out to be closed (``DispatchRequest/retry``) is sent again once, without a
/// wait. That counts as one of the ``attempts`` and takes nothing from the ``budget``. It never happens for methods
/// that are not idempotent, whatever ``repeats`` is; those follow the other rules of the policy.
///
/// If the whole end-point pauses (`GateLimits.pauses`) or is suspended (`GateLimits.breaker`), a request that is
/// retried does not wait on its own. It returns to the queue, and waits there with the other requests. The pause uses
/// up none of their attempts, and none of the ``budget``. With `PausePolicy.patience` a refusal with 429, or one that says for how
/// long, uses up no attempt either, until that time has passed since the request's first refusal.
///
/// A response with 421, which says that the connection leads to another server, is followed by the same request on a new
/// connection, once and without a wait, also without a policy.
///
/// While a request waits for its next attempt it holds no permit, so others continue. It returns to the queue with the
/// age of its submission, even if the queue is full; one that was refused again goes behind those that wait. Its `deadline` and `timeout` cover all attempts together, and no
/// wait begins that would outlast the deadline.
public struct RetryPolicy: Sendable {
  /// The maximum number of times a request is sent, including the first, and not including those that a pausing end-point
  /// refused (see `PausePolicy.patience`). With 1 or less it is never sent again.
  public var attempts: Int

  /// The wait between attempts. A `Retry-After` field of the server makes it longer, never shorter.
  public var backoff: Backoff

  /// What keeps the retries of all requests together from multiplying the load on a failing server.
  public enum Budget: Sendable {
    /// The end-point's budget, one for all requests of a dispatcher with such a policy, whether they have one policy or
    /// each its own.
    ///
    /// A hundred retries are allowed at first. Each response with a status other than ``statusCodes`` allows one more,
    /// up to a hundred again, and so does every tenth request whose first attempt fails. An end-point that answers more
    /// often than it fails therefore never runs out, and retries add a tenth to the load on one that is down. When
    /// thousands of end-points fail, those that were not used for longest begin anew.
    case endPoint
    /// No budget: only ``attempts`` bounds the retries.
    case none
    /// A budget of your own, for example one for several dispatchers. Each submitted request makes a deposit, and each
    /// retry takes one, whatever its end-point.
    case shared(RetryBudget)
  }

  /// The budget that retries are taken from. ``Budget/endPoint`` by default. A request that finds it empty ends with the
  /// response or error that it has; the error's `detail` and the log (source `dispatcher`) say so.
  public var budget: Budget

  /// The status codes after which a request is sent again: 408, 421, 425, 429, 500, 502, 503, 504, and 520 to 524, with
  /// which proxies report that a server can't be reached. Remove those that are final at your server.
  public var statusCodes: Set<Int> = [408, 421, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524]

  /// Which requests are sent again.
  public enum Repeats: Hashable, Sendable {
    /// Those that can be repeated: by their method, or with an `Idempotency-Key`.
    case idempotent
    /// Also a POST or PATCH that the server has not processed. Either no connection was made, so nothing was sent, or the
    /// server answered 421 (RFC 9110 section 15.5.20), 425 (RFC 8470) or 429. The last is custom and no proof: RFC 6585
    /// does not say that such a request had no effect, but servers count requests before they process them.
    case unprocessed
    /// All, also if the response to a POST was lost. For servers that detect duplicates.
    case all
  }

  /// Which requests are sent again. ``Repeats/unprocessed`` by default.
  public var repeats: Repeats

  /// The longest `Retry-After` that a request waits for on its own. After a longer one it is not sent again. One minute
  /// by default. While the end-point pauses, `PausePolicy.maxPause` applies instead: the request waits in the queue
  /// like all others, bounded only by its `deadline`.
  public var maxRetryAfter: Duration = .seconds(60)

  /// Whether `Retry-After` is ignored, so that only ``backoff`` determines the wait.
  public var ignoresRetryAfter = false

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of times a request is sent.
  ///   - backoff: The wait between attempts. By default it starts at 100 ms and doubles up to 20 s, with full jitter.
  ///   - budget: The budget that retries are taken from. By default that of the end-point.
  ///   - repeats: Which requests are sent again.
  public init(
    attempts: Int = 3, backoff: Backoff = Backoff(), budget: Budget = .endPoint,
    repeats: Repeats = .unprocessed
  ) {
    self.attempts = attempts
    self.backoff = backoff
    self.budget = budget
    self.repeats = repeats
  }

  /// Whether a request may be sent again.
  ///
  /// - Parameter isUnprocessed: Whether the server has not processed it.
  func mayRepeat(_ request: DispatchRequest, isUnprocessed: Bool) -> Bool {
    guard request.hasReplayableBody else { return false }
    return repeats == .all || repeats == .unprocessed && isUnprocessed || request.isIdempotent
  }

  /// The answers of a server that has not processed the request.
  static let unprocessedCodes: Set<Int> = [421, 425, 429]

  /// The wait before the next attempt. Nil if no attempt follows.
  ///
  /// - Parameters:
  ///   - made: The number of attempts made.
  ///   - asked: The wait that the server requested.
  ///   - asleep: How long the end-point is paused. The request waits for that in the queue, not on its own.
  ///   - left: The time left until the deadline.
  func wait(
    after made: Int, asked: Duration?, asleep: Duration? = nil, left: Duration?,
    using random: inout some RandomNumberGenerator
  ) -> Duration? {
    guard made < attempts, asleep != nil || asked.map({ $0 <= maxRetryAfter }) ?? true else { return nil }
    let wait = asleep ?? max(backoff.delay(after: made, using: &random), asked ?? .zero)
    guard left.map({ wait < $0 }) ?? true else { return nil }
    return asleep == nil ? wait : .zero
  }
}

extension DispatchRequest {
  /// Whether repeating it has no further effect: by its method (RFC 9110 section 9.2.2), or because it has an
  /// idempotency key.
  package var isIdempotent: Bool {
    switch method.rawValue {
    case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY": true
    // An empty key identifies no request.
    default: Self.idempotencyKey.flatMap { headerFields[$0] }?.contains { $0 != " " && $0 != "\t" } ?? false
    }
  }

  private static let idempotencyKey = HTTPField.Name("Idempotency-Key")

  /// Whether it may be sent again although it is unknown whether the server received it.
  package var mayBeRepeated: Bool { isIdempotent && hasReplayableBody }

  /// Whether its body, if it has one, can be read again.
  var hasReplayableBody: Bool { body?.isReplayable ?? true }
}
