import HeadgateLibC

/// The time of day, for the log.
enum WallClock {
  /// Now, as ``text(seconds:milliseconds:)`` writes it.
  static func now() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return text(seconds: Int(time.tv_sec), milliseconds: Int(time.tv_nsec) / 1_000_000)
  }

  /// A time in the format of RFC 3339, in UTC: `2026-11-24T03:04:05.678Z`.
  static func text(seconds: Int, milliseconds: Int) -> String {
    var moment = time_t(seconds)
    var parts = tm()
    gmtime_r(&moment, &parts)
    func digits(_ value: some BinaryInteger, _ width: Int = 2) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
    let day = "\(digits(parts.tm_year + 1900, 4))-\(digits(parts.tm_mon + 1))-\(digits(parts.tm_mday))"
    let time = "\(digits(parts.tm_hour)):\(digits(parts.tm_min)):\(digits(parts.tm_sec))"
    return "\(day)T\(time).\(digits(milliseconds, 3))Z"
  }
}
