import Logging
import Synchronization

/// Headgate's log, by source: the equivalent of `LSLog`, on swift-log.
///
/// Warnings are always logged. Ordinary events (a thread starts, a task waits) are logged for enabled sources only.
/// Sources are disabled by default and can be switched at any time. A disabled source costs one load per suppressed
/// line: nothing is computed, formatted or allocated.
///
/// Lines go to swift-log, with the source's name after `headgate.` as the label, or to ``delegate`` instead. Headgate
/// may be used inside a delegate or log handler (a handler may well use a queue), which must not cause an endless
/// recursion. So a line caused by the delegate goes to swift-log, and one caused by a swift-log handler is dropped.
public enum HeadgateLog {
  /// A part of Headgate that writes to the log.
  public struct Source: Hashable, Sendable, CaseIterable, CustomStringConvertible {
    // Only a bit, so that checking a disabled source needs no reference counting.
    let bit: UInt32

    /// Thread pools.
    public static var threadPool: Source { Source(bit: 1) }
    /// Timer threads.
    public static var timer: Source { Source(bit: 2) }
    /// Dispatchers and gates.
    public static var dispatcher: Source { Source(bit: 4) }
    /// Managed threads and their loops.
    public static var thread: Source { Source(bit: 8) }
    /// Blocking queues.
    public static var queue: Source { Source(bit: 16) }
    /// Combinators and callbacks.
    public static var flow: Source { Source(bit: 32) }

    /// Its index among all sources.
    var number: Int { bit.trailingZeroBitCount }

    /// All sources.
    public static var allCases: [Source] { [.threadPool, .timer, .dispatcher, .thread, .queue, .flow] }

    /// Its name in the log's label, after `headgate.`.
    public var description: String { ["thread_pool", "timer", "dispatcher", "thread", "queue", "flow"][number] }
  }

  private static let switches = LogSwitches()
  private static let output = LogOutput()

  /// Enables a source. Can be called from any thread, at any time.
  public static func enable(_ source: Source) { switches.enable(source) }

  /// Disables a source.
  public static func disable(_ source: Source) { switches.disable(source) }

  /// Enables all sources.
  public static func enableAll() { switches.enableAll() }

  /// Disables all sources, which is the default.
  public static func disableAll() { switches.disableAll() }

  /// Whether a source is enabled.
  public static func isEnabled(_ source: Source) -> Bool { switches.isEnabled(source) }

  /// Receives each formatted line instead of swift-log. If nil, the default, lines go to swift-log.
  ///
  /// It is called on the thread that logs, without a lock, and must return quickly.
  public static var delegate: (any HeadgateLogDelegate)? {
    get { output.delegate }
    set { output.delegate = newValue }
  }

  /// Logs an event if the source is enabled.
  package static func note(_ source: Source, _ message: @autoclosure () -> String) {
    if isEnabled(source) { output.write(source, .debug, message()) }
  }

  /// Logs a warning, whether the source is enabled or not.
  package static func warn(_ source: Source, _ message: @autoclosure () -> String) {
    output.write(source, .warning, message())
  }
}

/// Receives Headgate's log lines, like `LSLogDelegate`.
public protocol HeadgateLogDelegate: AnyObject, Sendable {
  /// Receives one formatted line, without a line terminator.
  ///
  /// `2026-03-01T12:00:00.123Z [debug] headgate.queue (worker-3): ...` contains the time (UTC), the level, the source,
  /// the thread's name and the message.
  ///
  /// Called on the thread that logs, possibly on several at once. It must return quickly.
  func headgateLog(_ line: String, source: HeadgateLog.Source)
}

/// The enabled sources: one word, read for every potential line.
package struct LogSwitches: ~Copyable, Sendable {
  // Not an AtomicCell: whether a line is logged just before or after a switch need not be explored.
  private let enabled = Atomic<UInt32>(0)

  package init() {}

  /// Releasing, as `isEnabled` acquires: a thread that sees the source enabled also sees a delegate that was set before
  /// this call.
  package borrowing func enable(_ source: HeadgateLog.Source) { enabled.bitwiseOr(source.bit, ordering: .releasing) }

  package borrowing func disable(_ source: HeadgateLog.Source) { enabled.bitwiseAnd(~source.bit, ordering: .relaxed) }

  package borrowing func enableAll() { enabled.store(.max, ordering: .releasing) }

  package borrowing func disableAll() { enabled.store(0, ordering: .relaxed) }

  package borrowing func isEnabled(_ source: HeadgateLog.Source) -> Bool {
    enabled.load(ordering: .acquiring) & source.bit != 0
  }
}
