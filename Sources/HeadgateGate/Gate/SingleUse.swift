import Synchronization

/// Marks what can be used only once as used: a sequence that can't be iterated again, a permit that was returned.
package final class SingleUse: Sendable {
  private let used = Atomic(false)

  package init() {}

  package var isUsed: Bool { used.load(ordering: .acquiring) }

  /// True for the first caller.
  package func take() -> Bool { !used.exchange(true, ordering: .acquiringAndReleasing) }
}
