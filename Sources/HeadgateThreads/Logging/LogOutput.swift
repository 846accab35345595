import CHeadgate
import Logging

/// The destination of log lines: the delegate, or one logger for each source.
///
/// A source's logger is created when its first line is logged, so that the program can configure swift-log beforehand.
/// The program's delegate, log handlers and their factory are never called under a lock.
package final class LogOutput: Sendable {
  private struct State {
    var delegate: (any HeadgateLogDelegate)?
    /// By the number of the source.
    var loggers = [Logger?](repeating: nil, count: HeadgateLog.Source.allCases.count)
  }

  private let state = Locked(State())
  private let makeLogger: @Sendable (String) -> Logger

  package init(makeLogger: @escaping @Sendable (String) -> Logger = { Logger(label: $0) }) {
    self.makeLogger = makeLogger
  }

  package var delegate: (any HeadgateLogDelegate)? {
    get { state.withLock { $0.delegate } }
    set {
      // Swapped under the lock, and the old one released after it.
      var other = newValue
      state.withLock { swap(&$0.delegate, &other) }
    }
  }

  @inline(never)
  package func write(_ source: HeadgateLog.Source, _ level: Logger.Level, _ message: String) {
    // The nesting depth of the program's delegate and handler on this thread. A line logged inside the delegate goes to
    // swift-log; one logged inside a swift-log handler is dropped.
    let depth = headgate_log_depth()
    guard depth < 2 else { return }
    defer { headgate_set_log_depth(depth) }
    if depth == 0, let delegate {
      headgate_set_log_depth(1)
      delegate.headgateLog(LogLine.format(source, level, message), source: source)
    } else {
      headgate_set_log_depth(2)
      // Not interpolated, which would copy the text.
      let text = Logger.Message(stringLiteral: message)
      logger(for: source).log(level: level, text, metadata: ["thread": .string(LogLine.threadName())])
    }
  }

  /// Called at depth 2: the factory belongs to the program and may use Headgate too.
  private func logger(for source: HeadgateLog.Source) -> Logger {
    if let known = state.withLock({ $0.loggers[source.number] }) { return known }
    var new = makeLogger("headgate.\(source)")
    // The switches decide which sources log, not the level.
    new.logLevel = .debug
    return state.withLock { [new] state in
      // Two threads may have created one at the same time. Both use the first.
      let first = state.loggers[source.number] ?? new
      state.loggers[source.number] = first
      return first
    }
  }
}
