import HTTPTypes

// A time from now, as servers state it: RFC 9110 section 10.2.3 has numbers of seconds and dates. Others send decimals,
// milliseconds, durations, dates of RFC 3339, and the time since 1970.
//
// All input comes from outside: what can't be parsed is nil, and nothing here traps.

enum StatedWait {
  /// The longest wait: 68 years.
  private static let longest = Double(Int32.max)

  // Few servers state two.
  private static let mostElements = 32

  /// The waits in a value, which is a list if there were several fields of one name. Nil for an element that can't be
  /// parsed, zero for a date in the past. O(bytes), of which at most 4 KiB are read.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - numbers: What numbers mean.
  ///   - clock: The time by the server's clock, in seconds since 1970. Not called for plain numbers of seconds.
  static func all(in value: String, _ numbers: RateLimitFields.Numbers, _ clock: () -> Int) -> [Duration?] {
    let elements = elements(of: value)
    var (waits, place) = ([Duration?](), 0)
    while place < elements.count {
      // The comma of a date separates nothing: `Sun, 06 Nov 1994 08:49:37 GMT`.
      if place + 1 < elements.count, let wait = date("\(elements[place]), \(elements[place + 1])", clock) {
        waits.append(wait)
        place += 2
      } else {
        waits.append(wait(elements[place], numbers, clock))
        place += 1
      }
    }
    return waits
  }

  /// The elements of a list, without spaces and parameters: `100, 100;window=60` is a form of an old draft.
  static func elements(of value: String) -> [String] {
    value.utf8.prefix(4096).split(
      separator: UInt8(ascii: ","), maxSplits: mostElements - 1, omittingEmptySubsequences: false
    ).map { element in
      let bytes = element.prefix { $0 != UInt8(ascii: ";") }.drop { $0 <= UInt8(ascii: " ") }
      let end = bytes.lastIndex { $0 > UInt8(ascii: " ") }
      return String(decoding: end.map { bytes[...$0] } ?? bytes, as: UTF8.self)
    }
  }

  /// A number without a sign. Nil for anything else, for example `nan`.
  static func number(_ text: String) -> Double? {
    guard let first = text.utf8.first, isDigit(first) || first == UInt8(ascii: "."),
      text.utf8.allSatisfy({ isDigit($0) || ".eE+-".utf8.contains($0) })
    else { return nil }
    return Double(text)
  }

  /// A wait that is stated as a number.
  static func wait(_ number: Double, _ numbers: RateLimitFields.Numbers, _ clock: () -> Int) -> Duration {
    switch numbers {
    case .seconds: return seconds(number)
    case .milliseconds: return seconds(number / 1000)
    case .secondsOrMoment:
      guard number >= 1e9, number < 1e21 else { return seconds(number) }
      var moment = number
      // In seconds, 10¹² lies beyond the year 33000.
      while moment >= 1e12 { moment /= 1000 }
      return seconds(moment - Double(clock()))
    }
  }

  private static func wait(_ text: String, _ numbers: RateLimitFields.Numbers, _ clock: () -> Int) -> Duration? {
    number(text).map { wait($0, numbers, clock) } ?? span(text) ?? date(text, clock)
  }

  private static func seconds(_ number: Double) -> Duration {
    .nanoseconds(Int64((min(max(0, number), longest) * 1e9).rounded()))
  }

  private static func date(_ text: String, _ clock: () -> Int) -> Duration? {
    let now = clock()
    let date = HTTPDate.internetSeconds(text) ?? HTTPDate.seconds(text, now: now)
    return date.map { .seconds(max(0, $0 - now)) }
  }

  /// Parses `6m0s`, `1m12.5s`, `20ms`: numbers with units from days to nanoseconds.
  private static func span(_ text: String) -> Duration? {
    guard !text.isEmpty, text.utf8.count <= 40 else { return nil }
    var (rest, sum) = (text.lowercased().utf8[...], 0.0)
    while !rest.isEmpty {
      let digits = rest.prefix { isDigit($0) || $0 == UInt8(ascii: ".") }
      let unit = rest.dropFirst(digits.count).prefix { !isDigit($0) }
      guard let number = Double(Substring(digits)), let factor = factors[String(Substring(unit))] else { return nil }
      sum += number * factor
      rest = rest.dropFirst(digits.count + unit.count)
    }
    return seconds(sum)
  }

  // The letter of microseconds is the micro sign, or the Greek letter that looks like it.
  private static let factors = [
    "d": 86_400, "h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "\u{b5}s": 1e-6, "\u{3bc}s": 1e-6, "ns": 1e-9,
  ]

  private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }
}

extension RateLimitFields {
  /// The wait that a response requests: the longest one that its fields state. Nil if none can be parsed, and zero for
  /// a date in the past.
  func wait(_ clock: () -> Int, _ value: (HTTPField.Name) -> String?) -> Duration? {
    var longest: Duration?
    for field in waits {
      guard let text = field.name.flatMap(value) else { continue }
      for case let wait? in StatedWait.all(in: text, field.numbers, clock) { longest = max(wait, longest ?? wait) }
    }
    return longest
  }

  /// The wait that a response requests.
  func wait(of head: ResponseHead) -> Duration? { wait({ HTTPDate.now(by: head[.date]) }) { head[$0] } }
}
