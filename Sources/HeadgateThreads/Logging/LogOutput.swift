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

/// Formats a line for a delegate, which receives text instead of swift-log's separate values.
package enum LogLine {
  /// `2026-03-01T12:00:00.123Z [debug] headgate.queue (worker-3): message`
  package static func format(_ source: HeadgateLog.Source, _ level: Logger.Level, _ message: String) -> String {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return
      "\(stamp(seconds: Int(now.tv_sec), nanoseconds: Int(now.tv_nsec))) [\(level)] headgate.\(source) (\(threadName())): \(message)"
  }

  /// A moment in UTC, in milliseconds, in the format of ISO 8601 and RFC 3339.
  package static func stamp(seconds: Int, nanoseconds: Int) -> String {
    var seconds = time_t(seconds)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let date = [padded(Int(parts.tm_year) + 1900, 4), padded(Int(parts.tm_mon) + 1, 2), padded(Int(parts.tm_mday), 2)]
    let time = [padded(Int(parts.tm_hour), 2), padded(Int(parts.tm_min), 2), padded(Int(parts.tm_sec), 2)]
    let milliseconds = padded(nanoseconds / 1_000_000, 3)
    return "\(date.joined(separator: "-"))T\(time.joined(separator: ":")).\(milliseconds)Z"
  }

  /// The calling thread's name in the system, or its number if it has none.
  package static func threadName() -> String {
    let name = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      buffer.initialize(repeating: 0)
      guard let base = buffer.baseAddress else { return "" }
      headgate_log_thread_name(base, buffer.count)
      return String(cString: base)
    }
    return name.isEmpty ? "thread \(headgate_thread_number())" : name
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
