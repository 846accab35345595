import HeadgateThreads

/// A start that was counted: what it takes to give it back, or to settle what it weighed.
struct StartReservation: Sendable {
  /// Ascending with each start of one limiter, from 1.
  let number: UInt64
  /// When it was counted.
  let moment: Deadline
  /// With what.
  let weights: [String: Int]
}

/// Why a request may not start before a moment.
enum StartCause: Hashable, Sendable {
  /// A rate is used up.
  case rate(Rate)
  /// The last start is too short ago.
  case minimumInterval(Duration)
  /// A budget has no room for the request's weight.
  case budget(Budget, weight: Int)
  /// The server has said that no more is left before its window ends.
  case quota
  /// It was refused again after a pause, and its starts keep a distance since.
  case recovery(Duration)
  /// So many start in a second, as was learned from refusals.
  case learnedRate(Double)
}
