import CHeadgate
import Logging

/// Where lines go: to the delegate, or to one logger for each source.
///
/// Loggers are made when a source first has something to tell, so that a program can set swift-log up before. Neither the
/// program's delegate nor its log handlers (nor the factory that makes them) are called under the lock.
package final class LogOutput: Sendable {
  private struct State {
    var delegate: (any HeadgateLogDelegate)?
    var loggers: [HeadgateLog.Source: Logger] = [:]
  }

  private let state = Locked(State())
  private let makeLogger: @Sendable (String) -> Logger

  package init(makeLogger: @escaping @Sendable (String) -> Logger = { Logger(label: $0) }) {
    self.makeLogger = makeLogger
  }

  package var delegate: (any HeadgateLogDelegate)? {
    get { state.withLock { $0.delegate } }
    set {
      // The old one leaves the lock before it is let go.
      let old = state.withLock { state in
        defer { state.delegate = newValue }
        return state.delegate
      }
      _ = consume old
    }
  }

  @inline(never)
  package func write(_ source: HeadgateLog.Source, _ level: Logger.Level, _ message: String) {
    // How many calls of the program's own, into which this thread has gone to tell something, it is inside of: a line
    // that it causes there takes the next way down, and none after the last.
    let depth = headgate_log_depth()
    if depth == 0, let delegate {
      let line = LogLine.format(source, level, message)
      headgate_set_log_depth(1)
      defer { headgate_set_log_depth(0) }
      delegate.headgateLog(line, source: source)
    } else if depth < 2 {
      headgate_set_log_depth(2)
      defer { headgate_set_log_depth(depth) }
      // The message as it is: interpolated into another one it would be copied.
      logger(of: source).log(
        level: level, Logger.Message(stringLiteral: message), metadata: ["thread": .string(LogLine.threadName())])
    }
  }

  /// Called at depth 2: the factory, which is the program's, may use Headgate too.
  private func logger(of source: HeadgateLog.Source) -> Logger {
    if let logger = state.withLock({ $0.loggers[source] }) { return logger }
    var logger = makeLogger("headgate.\(source)")
    // Which sources tell is decided by the switches, not by a level.
    logger.logLevel = .debug
    let new = logger
    // Two threads may have made one at the same time. Both keep the first, and the other is let go out here.
    return state.withLock { state in
      if let first = state.loggers[source] { return first }
      state.loggers[source] = new
      return new
    }
  }
}
