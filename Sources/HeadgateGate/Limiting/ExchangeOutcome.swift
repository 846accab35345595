import HeadgateThreads

/// The outcome of an exchange or of other work with a permit, for its end-point or for its first scope. A status is only
/// shown to users, and decides nothing.
package enum ExchangeOutcome: Hashable, Sendable {
  /// The end-point has answered, and refused nothing.
  case answered
  /// The end-point was reached. What it answered is unknown.
  case reached
  /// The end-point refuses this sender for now, and perhaps says for how long.
  case refused(wait: Duration?, status: Int? = nil)
  /// The end-point can't serve anyone now, and perhaps says for how long.
  case unavailable(wait: Duration?, status: Int? = nil)
  /// The end-point was not reached: no name, no connection, no handshake or no first byte. The reason is only shown to
  /// users. Nil if it is not known.
  case unreachable(because: String? = nil)
  /// The server reported how many more requests it accepts before its window ends.
  case quota(remaining: Int, until: Deadline)
}

extension ExchangeOutcome {
  /// The end-point refused this request because of its sender.
  var isRefusal: Bool { if case .refused = self { true } else { false } }

  var isUnavailable: Bool { if case .unavailable = self { true } else { false } }

  var isUnreachable: Bool { if case .unreachable = self { true } else { false } }

  var isQuota: Bool { if case .quota = self { true } else { false } }

  /// The same with a quota that ends within a duration of a time.
  func within(_ longest: Duration, of now: Deadline) -> ExchangeOutcome {
    if case .quota(let remaining, let until) = self {
      return .quota(remaining: remaining, until: min(until, now + longest))
    }
    return self
  }

  /// The wait that the end-point requests. Nil for none, or for one that is not positive.
  var wait: Duration? {
    switch self {
    case .refused(let wait?, _), .unavailable(let wait?, _): wait > .zero ? wait : nil
    default: nil
    }
  }

  /// Whether the end-point asks to come back later. One that is unavailable without saying for how long may be so for one
  /// request alone.
  package var defers: Bool { isRefusal || wait != nil }

  /// The status of a refusal, to be shown.
  var status: Int? {
    switch self {
    case .refused(_, let status), .unavailable(_, let status): status
    default: nil
    }
  }

  /// Whether a healthy end-point must be watched after this outcome.
  var isTrouble: Bool {
    switch self {
    case .refused, .unavailable, .unreachable, .quota: true
    case .answered, .reached: false
    }
  }

  /// Whether it is attributed to the first scope of the request.
  ///
  /// - Parameter isKnown: Whether that scope has had trouble.
  func concernsScope(_ isKnown: Bool) -> Bool { isRefusal || isQuota || isKnown && !isTrouble }
}
