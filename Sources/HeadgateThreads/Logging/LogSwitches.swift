import Synchronization

/// Which sources are on: one word, read by every line that may be told.
package struct LogSwitches: ~Copyable, Sendable {
  // No AtomicCell: whether a line is told earlier or later than a switch is no interleaving to explore.
  private let enabled = Atomic<UInt32>(0)

  package init() {}

  /// Releasing: a line that is told for it goes where lines went to by then. See `LogOutput.write`.
  package borrowing func enable(_ source: HeadgateLog.Source) { enabled.bitwiseOr(source.bit, ordering: .releasing) }

  package borrowing func disable(_ source: HeadgateLog.Source) { enabled.bitwiseAnd(~source.bit, ordering: .relaxed) }

  package borrowing func enableAll() { enabled.store(.max, ordering: .releasing) }

  package borrowing func disableAll() { enabled.store(0, ordering: .relaxed) }

  /// A relaxed load: a line more or less around the moment of a switch is nobody's loss, and whoever tells one looks closer.
  package borrowing func isEnabled(_ source: HeadgateLog.Source) -> Bool {
    enabled.load(ordering: .relaxed) & source.bit != 0
  }
}
