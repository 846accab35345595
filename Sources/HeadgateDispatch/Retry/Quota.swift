import HeadgateThreads

/// A server's report on one of its quotas.
struct Quota: Hashable, Sendable {
  /// The server's name for the quota; empty if it has none.
  var name = ""
  /// What it counts: that of its row in ``RateLimitFields``, or `qu` of draft-ietf-httpapi-ratelimit-headers.
  var unit = "requests"
  /// The partition of the server's clients that it applies to: `pk`, as sent.
  var partitionKey: String?
  /// The amount in each window.
  var limit: Int?
  /// The amount left.
  var remaining: Int?
  /// The time until more becomes available.
  var reset: Duration?

  var countsRequests: Bool { unit == "requests" }

  /// Whether no request can succeed until it is reset: nothing is left of it, in requests or in tokens. Without a body,
  /// a request needs no bytes; and the end of any request makes room for another concurrent one.
  var isExhausted: Bool {
    (remaining ?? 1) <= 0 && reset ?? .zero > .zero && unit != "content-bytes" && unit != "concurrent-requests"
  }
}

/// The quotas and the wait that a response reports.
struct QuotaFields: Hashable, Sendable {
  /// The wait that the server requests. Nil if it requests none, or zero.
  var retryAfter: Duration?
  /// The quotas, at most 16.
  var quotas: [Quota] = []

  static let mostQuotas = 16

  /// The quota with the least left, among those on requests and the exhausted ones in other units. Among several, the
  /// one that is reset last. Nil if none has both values.
  var binding: (remaining: Int, reset: Duration)? {
    var found: (remaining: Int, reset: Duration)?
    // Some servers report 0 of 0 if there is no quota.
    for quota in quotas where (quota.countsRequests || quota.isExhausted) && quota.limit != 0 {
      guard let remaining = quota.remaining, let reset = quota.reset else { continue }
      let isTighter = found.map { remaining < $0.remaining || remaining == $0.remaining && reset > $0.reset } ?? true
      if isTighter { found = (remaining, reset) }
    }
    return found
  }

  /// The wait that a refusal with these fields requests: that of `Retry-After`, or else the longest reset of the
  /// exhausted quotas. Nil if there is neither.
  var wait: Duration? {
    if let retryAfter { return retryAfter }
    return quotas.filter { ($0.remaining ?? 1) <= 0 }.compactMap(\.reset).filter { $0 > .zero }.max()
  }
}
