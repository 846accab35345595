import DequeModule
import HeadgateThreads

/// The last starts, at most so many of which lie in any one window.
struct RollingStarts: Sendable {
  let count: Int
  let window: Int64
  // Ascending. At most `count`: the next one has to wait for the first of them only.
  private var moments: Deque<UInt64> = []

  init(count: Int, window: Int64) {
    self.count = count
    self.window = window
  }

  /// When the next one may start. O(1).
  var earliest: Deadline {
    guard moments.count >= count, let first = moments.first else { return .distantPast }
    return Deadline(nanoseconds: first).advanced(byNanoseconds: window)
  }

  /// O(1), amortized.
  mutating func take(_ start: StartReservation) {
    if moments.count >= count { moments.removeFirst() }
    moments.append(start.moment.nanoseconds)
    // What has left the window takes up no memory.
    while let first = moments.first, Deadline(nanoseconds: first).advanced(byNanoseconds: window) <= start.moment {
      moments.removeFirst()
    }
  }

  /// Takes over what another one has counted: the last of it.
  mutating func adopt(_ other: RollingStarts) { moments = Deque(other.moments.suffix(count)) }

  /// O(count) at worst, O(1) for one of the last.
  mutating func giveBack(_ start: StartReservation) {
    guard let place = moments.lastIndex(of: start.moment.nanoseconds) else { return }
    moments.remove(at: place)
  }
}
