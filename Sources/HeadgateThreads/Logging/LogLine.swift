import CHeadgate
import Logging

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
