import DequeModule
import HeadgateThreads

/// The weights of the requests in the last window: the log of a sliding window.
struct BudgetWindow: Sendable {
  private struct Entry {
    /// The number of the start. Nil for debt.
    let number: UInt64?
    let moment: Deadline
    var weight: Int
  }

  let budget: Budget
  let window: Int64
  // Sorted by moment. The entries of starts are also sorted by number.
  private var entries: Deque<Entry> = []
  private var used = 0

  init(_ budget: Budget) {
    self.budget = budget
    window = Rate.guarded(budget.windowNanoseconds, spread: .zero)
  }

  /// Takes over the entries of another window.
  mutating func adopt(_ other: BudgetWindow) { (entries, used) = (other.entries, other.used) }

  /// The units counted at a moment. O(n) in the expired entries that have not been removed yet.
  func used(at now: Deadline) -> Int {
    var sum = used
    for entry in entries {
      guard hasLeft(entry, at: now) else { break }
      sum -= entry.weight
    }
    return sum
  }

  /// The earliest time with room for a weight, which must not exceed the budget. O(n) in the entries that must expire
  /// first.
  func earliest(_ weight: Int) -> Deadline {
    var sum = used
    var moment = Deadline.distantPast
    for entry in entries {
      guard sum > budget.units - weight else { break }
      sum -= entry.weight
      moment = entry.moment.advanced(byNanoseconds: window)
    }
    return moment
  }

  /// O(1), amortized.
  mutating func take(_ weight: Int, _ start: StartReservation) {
    dropOld(at: start.moment)
    append(Entry(number: start.number, moment: start.moment, weight: weight))
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
      append(Entry(number: nil, moment: now, weight: min(actual - reserved, 1 << 53)))
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
    while let first = entries.first, hasLeft(first, at: now) {
      used -= first.weight
      entries.removeFirst()
    }
  }

  private func hasLeft(_ entry: Entry, at now: Deadline) -> Bool {
    entry.moment.advanced(byNanoseconds: window) <= now
  }

  // Binary search. A debt has no number, so the next start after it is compared.
  private func place(of number: UInt64) -> Int? {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = low + (high - low) / 2
      var probe = middle
      while probe < high, entries[probe].number == nil { probe += 1 }
      guard probe < high, let found = entries[probe].number else {
        high = middle
        continue
      }
      if found == number { return probe }
      if found < number { low = probe + 1 } else { high = middle }
    }
    return nil
  }
}
