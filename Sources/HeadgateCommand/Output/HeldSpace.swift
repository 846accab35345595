import HeadgateThreads

/// The disk that bodies take while they wait for their turn: counted here for all of them together.
final class HeldSpace: Sendable {
  /// The most bytes.
  let limit: Int
  private let taken = Locked(0)

  init(limit: Int) { self.limit = limit }

  /// The bytes that are taken at the moment.
  var used: Int { taken.withLock { $0 } }

  /// Takes so many bytes; false, and nothing is taken, when they would be too many.
  func take(_ count: Int) -> Bool {
    taken.withLock { taken in
      guard count <= limit - taken else { return false }
      taken += count
      return true
    }
  }

  /// Gives back what was taken.
  func give(back count: Int) { taken.withLock { $0 -= count } }
}
