import Synchronization

/// The enabled sources: one word, read for every potential line.
package struct LogSwitches: ~Copyable, Sendable {
  // Not an AtomicCell: whether a line is logged just before or after a switch need not be explored.
  private let enabled = Atomic<UInt32>(0)

  package init() {}

  /// Releasing: a thread that sees the source enabled also sees a delegate that was set before this call. See
  /// `LogOutput.write`.
  package borrowing func enable(_ source: HeadgateLog.Source) { enabled.bitwiseOr(source.bit, ordering: .releasing) }

  package borrowing func disable(_ source: HeadgateLog.Source) { enabled.bitwiseAnd(~source.bit, ordering: .relaxed) }

  package borrowing func enableAll() { enabled.store(.max, ordering: .releasing) }

  package borrowing func disableAll() { enabled.store(0, ordering: .relaxed) }

  /// A relaxed load: one line too many or too few around the moment of a switch is harmless, and `LogOutput.write` has
  /// the fence.
  package borrowing func isEnabled(_ source: HeadgateLog.Source) -> Bool {
    enabled.load(ordering: .relaxed) & source.bit != 0
  }
}
