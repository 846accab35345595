import DequeModule
import HeadgateThreads

/// The most recent starts, for a limit on the starts in any window.
struct RollingStarts: Sendable {
  let count: Int
  let window: Int64
  // Sorted. At most `count`, since the next start depends only on the oldest of them.
  private var moments: Deque<UInt64> = []

  init(count: Int, window: Int64) {
    self.count = count
    self.window = window
  }

  /// The earliest time of the next start. O(1).
  var earliest: Deadline {
    guard moments.count >= count, let first = moments.first else { return .distantPast }
    return Deadline(nanoseconds: first).advanced(byNanoseconds: window)
  }

  /// O(1), amortized.
  mutating func take(_ start: StartReservation) {
    if moments.count >= count { moments.removeFirst() }
    moments.append(start.moment.nanoseconds)
    // Removes starts that have left the window, to free memory.
    while let first = moments.first, Deadline(nanoseconds: first).advanced(byNanoseconds: window) <= start.moment {
      moments.removeFirst()
    }
  }

  /// Takes over the most recent starts of another limiter.
  mutating func adopt(_ other: RollingStarts) { moments = Deque(other.moments.suffix(count)) }

  /// O(count) in the worst case, O(1) for one of the last starts.
  mutating func giveBack(_ start: StartReservation) {
    guard let place = moments.lastIndex(of: start.moment.nanoseconds) else { return }
    moments.remove(at: place)
  }
}
