import HeadgateThreads

/// Counts the disk space of all bodies that wait for their turn.
final class HeldSpace: Sendable {
  /// The most bytes.
  let limit: Int
  private let taken = Locked(0)

  init(limit: Int) { self.limit = limit }

  /// The bytes in use.
  var used: Int { taken.withLock { $0 } }

  /// Reserves bytes. Returns false and reserves nothing if they would exceed the limit.
  func take(_ count: Int) -> Bool {
    taken.withLock { taken in
      guard count <= limit - taken else { return false }
      taken += count
      return true
    }
  }

  /// Returns reserved bytes.
  func give(back count: Int) { taken.withLock { $0 -= count } }
}
