import Synchronization

/// Counts what a dispatcher still owes: each operation until its caller was told, and the transport until it is closed.
final class Ledger: Sendable {
  // One is the transport's.
  private let open = Atomic<Int>(1)
  let settled = Drain()

  func enter() { open.add(1, ordering: .relaxed) }

  func leave() {
    if open.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { settled.finish() }
  }
}
