import Logging

/// What Headgate tells of its work, by source: the classic `LSLog`, on swift-log.
///
/// Warnings always reach the log. What merely happens (a thread starts, a task waits) is told for the sources that are
/// enabled, none at first, and can be switched while all runs. A source that is off costs one load of a word for each
/// line that it would have written: nothing is computed, formatted or allocated.
///
/// Lines go to swift-log, under the label `headgate.` and the source's name, or to ``delegate`` instead. Headgate's own
/// work inside of that (a log handler may well use a queue) is told too, without end: a line that the delegate causes
/// goes to swift-log, and one that swift-log's handler causes is dropped.
public enum HeadgateLog {
  /// A part of Headgate that tells of itself.
  public struct Source: Hashable, Sendable, CaseIterable, CustomStringConvertible {
    // Nothing but a bit, so that asking for a source that is off counts no references.
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

    /// Its place among all of them.
    var number: Int { bit.trailingZeroBitCount }

    /// All of them.
    public static var allCases: [Source] { [.threadPool, .timer, .dispatcher, .thread, .queue, .flow] }

    /// Its name in the log's label, after `headgate.`.
    public var description: String {
      switch self {
      case .threadPool: "thread_pool"
      case .timer: "timer"
      case .dispatcher: "dispatcher"
      case .thread: "thread"
      case .queue: "queue"
      default: "flow"
      }
    }
  }

  private static let switches = LogSwitches()
  private static let output = LogOutput()

  /// Turns a source on. From any thread, at any time.
  public static func enable(_ source: Source) { switches.enable(source) }

  /// Turns a source off.
  public static func disable(_ source: Source) { switches.disable(source) }

  /// Turns all sources on.
  public static func enableAll() { switches.enableAll() }

  /// Turns all sources off, as they are at first.
  public static func disableAll() { switches.disableAll() }

  /// Whether a source is on.
  public static func isEnabled(_ source: Source) -> Bool { switches.isEnabled(source) }

  /// Who receives each formatted line instead of swift-log; nil, as at first, for swift-log.
  ///
  /// It is called on the thread that tells, with no lock held, and must return soon.
  public static var delegate: (any HeadgateLogDelegate)? {
    get { output.delegate }
    set { output.delegate = newValue }
  }

  /// Tells what happens, if the source is on.
  package static func note(_ source: Source, _ message: @autoclosure () -> String) {
    if isEnabled(source) { output.write(source, .debug, message()) }
  }

  /// Tells what somebody should look at, whether the source is on or not.
  package static func warn(_ source: Source, _ message: @autoclosure () -> String) {
    output.write(source, .warning, message())
  }
}

/// Receives Headgate's log lines: the classic `LSLogDelegate`.
public protocol HeadgateLogDelegate: AnyObject, Sendable {
  /// One line, formatted, without its end of line: `2026-03-01T12:00:00.123Z [debug] headgate.queue (worker-3): ...`,
  /// which are the time (UTC), the level, the source, the thread's name and what it tells.
  ///
  /// Called on the thread that tells, on several at once; it must return soon.
  func headgateLog(_ line: String, source: HeadgateLog.Source)
}
