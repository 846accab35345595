import DequeModule
import HeadgateThreads

/// The weights of the starts in the last window: the log of a sliding window.
///
/// Each start weighs 1 for a rate. For an interval between starts, a window holds one start.
struct StartWindow: Sendable {
  private struct Entry {
    /// The number of the start. A debt has that of the entry before it.
    let number: UInt64
    let isDebt: Bool
    let moment: Deadline
    var weight: Int
  }

  /// The sum of weights that fits into a window.
  let units: Int
  let nanoseconds: Int64
  /// The maximum random extension of the window after a start.
  let jitter: Int64
  // Sorted by moment and by number.
  private var entries: Deque<Entry> = []
  private var used = 0

  init(_ units: Int, in nanoseconds: Int64, jitter: Int64 = 0) {
    (self.units, self.nanoseconds, self.jitter) = (units, nanoseconds, jitter)
  }

  /// Takes over the entries of another window, except those that had left this one at a moment.
  mutating func adopt(_ other: StartWindow, at moment: Deadline) {
    (entries, used) = (other.entries, other.used)
    dropOld(at: moment)
  }

  /// The earliest time with room for a weight, which must not exceed the units. O(n) in the entries that must expire
  /// first.
  func earliest(_ weight: Int) -> Deadline {
    var sum = used
    var moment = Deadline.distantPast
    for entry in entries {
      guard sum > units - weight else { break }
      sum -= entry.weight
      moment = end(of: entry)
    }
    return moment
  }

  /// The earliest time of the next start, if each start weighs 1. O(1).
  var next: Deadline { used < units ? .distantPast : end(of: entries[used - units]) }

  /// O(1), amortized.
  mutating func take(_ start: StartReservation, weight: Int = 1) {
    dropOld(at: start.moment)
    append(Entry(number: start.number, isDebt: false, moment: start.moment, weight: weight))
  }

  mutating func giveBack(_ start: StartReservation) {
    guard let place = place(of: start.number) else { return }
    used -= entries.remove(at: place).weight
  }

  /// Replaces the charge of a start by its actual weight. O(log n).
  mutating func settle(_ start: StartReservation, reserved: Int, actual: Int, at now: Deadline) {
    if actual > reserved {
      dropOld(at: now)
      // Bounded, so that sums can't overflow. In any case nothing starts for a whole window after such a debt.
      append(
        Entry(number: entries.last?.number ?? 0, isDebt: true, moment: now, weight: min(actual - reserved, 1 << 53)))
    } else if let place = place(of: start.number) {
      used -= entries[place].weight - actual
      entries[place].weight = actual
    }
  }

  private mutating func append(_ entry: Entry) {
    // At most half of the range, so that a series of debts can't overflow either.
    guard used <= Int.max / 2 else { return }
    used += entry.weight
    entries.append(entry)
  }

  private mutating func dropOld(at now: Deadline) {
    while let first = entries.first, end(of: first) <= now {
      used -= first.weight
      entries.removeFirst()
    }
  }

  private func end(of entry: Entry) -> Deadline {
    entry.moment.advanced(byNanoseconds: nanoseconds + more(after: entry.number))
  }

  // The same value each time for one start, but different in each process, because hashing is seeded.
  private func more(after number: UInt64) -> Int64 {
    guard jitter > 0 else { return 0 }
    return Int64(UInt64(bitPattern: Int64(number.hashValue)) % UInt64(jitter + 1))
  }

  private func place(of number: UInt64) -> Int? {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < entries.count && entries[low].number == number && !entries[low].isDebt ? low : nil
  }
}
