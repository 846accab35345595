import HeadgateThreads

/// A counted start: the data needed to give it back, or to correct its weight.
struct StartReservation: Sendable {
  /// Increases with each start of a limiter, from 1.
  let number: UInt64
  /// The time at which it was counted.
  let moment: Deadline
  /// The weights that it was charged.
  let weights: [String: Int]
}

/// Why a request may not start before a certain time.
enum StartCause: Hashable, Sendable {
  /// A rate is exhausted.
  case rate(Rate)
  /// The last start was too recent.
  case minimumInterval(Duration)
  /// A budget has no room for the request's weight.
  case budget(Budget, weight: Int)
  /// The server reported that nothing is left before its window ends.
  case quota
  /// It refused again after a pause, so its starts are spaced.
  case recovery(Duration)
  /// A number of starts in a second that was learned from refusals.
  case learnedRate(Double)
}
