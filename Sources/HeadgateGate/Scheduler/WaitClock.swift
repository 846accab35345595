// How waiting time is summed up by cause, without touching a request while it waits. Whatever waits in one place waits
// for the same cause: the clock of the place runs for one cause at a time, and a request reads it when it comes and when
// it goes. Each clock counts all time, so the causes of a wait add up to its length exactly.

import HeadgateThreads

/// Nanoseconds by cause. The differences of two sums are exact, even if a clock began at any time in the past.
struct WaitSums: Hashable, Sendable {
  // As many places as there are kinds.
  private var values = SIMD16<Int64>(repeating: 0)

  subscript(cause: WaitReason.Kind.Word) -> Int64 {
    get { values[Int(cause.rawValue)] }
    set { values[Int(cause.rawValue)] = newValue }
  }

  /// The sum of all causes.
  var total: Int64 { values.wrappedSum() }

  /// How many causes have a time, and one of them. A loop over the places: the list of all cases would be allocated.
  var causes: (count: Int, last: WaitReason.Kind.Word?) {
    var (count, last) = (0, WaitReason.Kind.Word?.none)
    for place in values.indices where values[place] > 0 {
      count += 1
      last = WaitReason.Kind.Word(rawValue: UInt8(place))
    }
    return (count, last)
  }

  static func + (left: WaitSums, right: WaitSums) -> WaitSums {
    var sum = left
    sum.values &+= right.values
    return sum
  }

  static func - (left: WaitSums, right: WaitSums) -> WaitSums {
    var difference = left
    difference.values &-= right.values
    return difference
  }
}

/// Sums up the time in one place by its cause.
struct WaitClock: Sendable {
  typealias Cause = WaitReason.Kind.Word

  private var sums = WaitSums()
  private(set) var cause = Cause.turn
  private var since = Deadline.distantPast
  // A pause may end without an event, because another limit applies then. From that time on, the other cause counts.
  private var until = Deadline.distantFuture
  private var next = Cause.turn

  /// From now on the place waits for this cause, and from another time on for the next one. O(1), and without a change
  /// only a comparison.
  mutating func turn(
    to cause: Cause, until end: Deadline = .distantFuture, then next: Cause = .turn, at now: Deadline
  ) {
    guard (cause, end, next) != (self.cause, until, self.next) else { return }
    sums = read(at: now)
    since = max(since, now)
    (self.cause, until, self.next) = (cause, end, next)
  }

  /// The sums up to now.
  func read(at now: Deadline) -> WaitSums {
    guard now > since else { return sums }
    var sums = sums
    let change = min(max(until, since), now)
    sums[cause] &+= change.nanoseconds(since: since)
    sums[next] &+= now.nanoseconds(since: change)
    return sums
  }
}

/// The waits of one request, or of all in one line, as the difference of two readings of what it waits in. While it
/// waits nowhere, the value is what it has waited; while it waits, the reading at which it would have waited nothing.
struct WaitMeter: Sendable {
  private(set) var value = WaitSums()

  /// It comes to what has this reading now, or leaves it.
  mutating func turn(under reading: WaitSums) { value = reading - value }

  /// What it has waited, under the reading of what it waits in.
  func read(under reading: WaitSums) -> WaitSums { reading - value }
}

/// The waits at one end-point.
struct WaitBook: Sendable {
  /// Why the requests of a lane wait, except those that one of their scopes holds back.
  var clocks = ByLane(WaitClock())
  /// Of the requests that wait no more.
  var past = WaitSums()
}
