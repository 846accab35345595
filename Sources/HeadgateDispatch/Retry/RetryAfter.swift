// The wait that a server requests: RFC 9110 section 10.2.3, a number of seconds or a date.

enum RetryAfter {
  /// The wait that a field value requests. Nil if it can't be parsed. Zero for a date in the past.
  static func wait(_ value: String, now: Int = HTTPDate.now) -> Duration? {
    let digits = value.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    if digits, !value.isEmpty { return .seconds(Int64(value) ?? Int64(Int32.max)) }
    return HTTPDate.seconds(value, now: now).map { .seconds(max(0, $0 - now)) }
  }
}
