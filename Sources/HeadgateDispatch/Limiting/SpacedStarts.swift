import HeadgateThreads

// The generic cell rate algorithm (ITU-T I.371, annex A, virtual scheduling) with a tolerance of zero: a start conforms
// if it comes no earlier than a fixed interval after the previous one. The theoretical arrival time is then the last
// start plus the interval, so one number is enough.

/// A limit on the interval between starts.
struct SpacedStarts: Sendable {
  let interval: Int64
  /// The maximum random extension of an interval.
  let jitter: Int64
  private var last: Last?

  private struct Last {
    let number: UInt64
    let moment: Deadline
    let before: Deadline?
  }

  init(interval: Int64, jitter: Int64 = 0) { (self.interval, self.jitter) = (interval, jitter) }

  /// The earliest time of the next start.
  var earliest: Deadline {
    last.map { $0.moment.advanced(byNanoseconds: interval + more(after: $0.number)) } ?? .distantPast
  }

  // The same value each time for one start, but different in each process, because hashing is seeded.
  private func more(after number: UInt64) -> Int64 {
    guard jitter > 0 else { return 0 }
    return Int64(UInt64(bitPattern: Int64(number.hashValue)) % UInt64(jitter + 1))
  }

  mutating func take(_ start: StartReservation) {
    last = Last(number: start.number, moment: start.moment, before: last?.moment)
  }

  /// Only the last start can be given back. A start after an earlier one has already kept the interval from it.
  mutating func giveBack(_ start: StartReservation) {
    guard let last, last.number == start.number else { return }
    // No start has the number 0.
    self.last = last.before.map { Last(number: 0, moment: $0, before: nil) }
  }
}
