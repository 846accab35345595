import HeadgateThreads

/// What a server says of one of its quotas.
struct Quota: Hashable, Sendable {
  /// What is counted: `qu` of draft-ietf-httpapi-ratelimit-headers.
  enum Unit: Hashable, Sendable {
    /// Requests: what is meant where nothing is said.
    case requests
    /// Requests under way at once.
    case concurrentRequests
    /// Something else: bytes of content, or what only the server knows.
    case other(String)
  }

  /// What the server calls it; empty where it has no name.
  var name = ""
  var unit = Unit.requests
  /// Which part of the server's users it is for: `pk`, as it was sent.
  var partitionKey: String?
  /// How much there is in each window.
  var limit: Int?
  /// How much of it is left.
  var remaining: Int?
  /// In how much time there is more of it.
  var reset: Duration?
  /// How long the window is.
  var window: Duration?
}

/// What a response says of quotas, and of how long to wait.
struct QuotaFields: Hashable, Sendable {
  /// How long the server asks to be left alone; nil where it does not ask, or asks for nothing.
  var retryAfter: Duration?
  /// Its quotas, 16 at most.
  var quotas: [Quota] = []

  static let mostQuotas = 16

  /// The quota on requests that has least left, and of those the one that is reset last; nil where none says both.
  var binding: (remaining: Int, reset: Duration)? {
    var found: (remaining: Int, reset: Duration)?
    // Some servers say 0 of 0 where there is no quota at all.
    for quota in quotas where quota.unit == .requests && quota.limit != 0 {
      guard let remaining = quota.remaining, let reset = quota.reset, reset > .zero else { continue }
      let isTighter = found.map { remaining < $0.remaining || remaining == $0.remaining && reset > $0.reset } ?? true
      if isTighter { found = (remaining, reset) }
    }
    return found
  }

  /// How long a refusal with these fields asks to wait: what `Retry-After` says, else the longest reset of the quotas that
  /// are used up; nil where neither says anything.
  var wait: Duration? {
    if let retryAfter { return retryAfter }
    return quotas.filter { ($0.remaining ?? 1) <= 0 }.compactMap(\.reset).filter { $0 > .zero }.max()
  }
}
