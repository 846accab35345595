import HTTPTypes

// The wait that a server requests: RFC 9110 section 10.2.3, a number of seconds or a date. Some servers send decimals.

enum RetryAfter {
  /// The wait that a field value requests. Nil if it can't be parsed. Zero for a date in the past.
  ///
  /// - Parameter now: The time by the server's clock, in seconds since 1970. Evaluated only for a date.
  static func wait(_ value: String, now: @autoclosure () -> Int = HTTPDate.now) -> Duration? {
    let isNumber = value.utf8.allSatisfy { (48...57).contains($0) || $0 == UInt8(ascii: ".") }
    if isNumber, !value.isEmpty {
      if let whole = Int64(value) { return .seconds(whole) }
      guard value.utf8.count <= 40 else { return .seconds(Int64(Int32.max)) }
      return Double(value).map { .nanoseconds(Int64(min($0, Double(Int32.max)) * 1e9)) }
    }
    let now = now()
    return HTTPDate.seconds(value, now: now).map { .seconds(max(0, $0 - now)) }
  }

  /// The wait that a response requests. A date counts from the response's own `Date`, since clocks differ.
  static func wait(of head: ResponseHead) -> Duration? {
    head[.retryAfter].flatMap { wait($0, now: HTTPDate.now(by: head[.date])) }
  }
}
