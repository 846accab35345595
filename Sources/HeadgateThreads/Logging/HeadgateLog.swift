import Logging
import Synchronization

/// What Headgate tells of its work, by source: the classic `LSLog`, on swift-log.
///
/// Warnings always reach the log. What merely happens (a thread starts, a task waits) is told for the sources that are
/// enabled, none at first, and can be switched while all runs. A source that is off costs one load of a word for each
/// line that it would have written: nothing is computed, formatted or allocated.
public enum HeadgateLog {
  /// A part of Headgate that tells of itself.
  public struct Source: Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// Its name in the log's label, after `headgate.`.
    public let description: String
    let bit: UInt32

    /// Thread pools.
    public static let threadPool = Source(description: "thread_pool", bit: 1)
    /// Timer threads.
    public static let timer = Source(description: "timer", bit: 2)
    /// Dispatchers and gates.
    public static let dispatcher = Source(description: "dispatcher", bit: 4)
    /// Managed threads and their loops.
    public static let thread = Source(description: "thread", bit: 8)
    /// Blocking queues.
    public static let queue = Source(description: "queue", bit: 16)

    /// All of them.
    public static let allCases: [Source] = [.threadPool, .timer, .dispatcher, .thread, .queue]
  }

  private static let enabled = Atomic<UInt32>(0)
  private static let output = Locked(LogOutput())

  /// Turns a source on. From any thread, at any time.
  public static func enable(_ source: Source) { enabled.bitwiseOr(source.bit, ordering: .relaxed) }

  /// Turns a source off.
  public static func disable(_ source: Source) { enabled.bitwiseAnd(~source.bit, ordering: .relaxed) }

  /// Turns all sources on.
  public static func enableAll() { enabled.store(.max, ordering: .relaxed) }

  /// Turns all sources off, as they are at first.
  public static func disableAll() { enabled.store(0, ordering: .relaxed) }

  /// Whether a source is on.
  public static func isEnabled(_ source: Source) -> Bool {
    enabled.load(ordering: .relaxed) & source.bit != 0
  }

  /// Who receives each formatted line instead of swift-log; nil, as at first, for swift-log.
  ///
  /// It is called on the thread that tells, with no lock held, and must return soon.
  public static var delegate: (any HeadgateLogDelegate)? {
    get { output.withLock { $0.delegate } }
    set {
      // The old one leaves the lock before it is let go.
      let old = output.withLock { output in
        defer { output.delegate = newValue }
        return output.delegate
      }
      _ = consume old
    }
  }

  /// Tells what happens, if the source is on.
  @inline(__always)
  package static func note(_ source: Source, _ message: @autoclosure () -> String) {
    if isEnabled(source) { write(source, .debug, message()) }
  }

  /// Tells what somebody should look at, whether the source is on or not.
  package static func warn(_ source: Source, _ message: @autoclosure () -> String) {
    write(source, .warning, message())
  }

  @inline(never)
  private static func write(_ source: Source, _ level: Logger.Level, _ message: String) {
    let (delegate, logger) = output.withLock { output in (output.delegate, output.logger(of: source)) }
    if let delegate {
      delegate.headgateLog("[\(level)] headgate.\(source): \(message)", source: source)
    } else {
      logger.log(level: level, "\(message)")
    }
  }
}

/// Receives Headgate's log lines: the classic `LSLogDelegate`.
public protocol HeadgateLogDelegate: AnyObject, Sendable {
  /// One line, formatted, without its end of line.
  func headgateLog(_ line: String, source: HeadgateLog.Source)
}

/// Where lines go. Loggers are made when a source first has something to tell, so that a program can set swift-log up
/// before.
private struct LogOutput {
  var delegate: (any HeadgateLogDelegate)?
  private var loggers: [HeadgateLog.Source: Logger] = [:]

  mutating func logger(of source: HeadgateLog.Source) -> Logger {
    if let logger = loggers[source] { return logger }
    var logger = Logger(label: "headgate.\(source)")
    // Which sources tell is decided here, not by a level.
    logger.logLevel = .debug
    loggers[source] = logger
    return logger
  }
}
