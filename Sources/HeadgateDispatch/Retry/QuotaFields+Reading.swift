import HTTPTypes
import HeadgateThreads

// The supported forms, the standard's first. If a response has several, the first one that can be parsed counts.
//
//     RateLimit: "hour";r=0;t=1200            draft-ietf-httpapi-ratelimit-headers-08 and later, with RateLimit-Policy
//     RateLimit: limit=100, remaining=0, reset=50                                the same draft up to version 07
//     RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset                      the same draft up to version 06
//     X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset (seconds from now, or since 1970; GitHub and others)
//     X-RateLimit-Reset-After (seconds with decimals), X-Rate-Limit-…
//     X-RateLimit-Remaining-Requests, X-RateLimit-Reset-Requests: 1m12.5s                    OpenAI and others
//     Anthropic-RateLimit-Requests-Remaining, -Reset: 2026-03-01T12:00:00Z                   Anthropic
//
// All input comes from outside: values that can't be parsed are ignored, and nothing here traps.

extension QuotaFields {
  /// Parses the fields of a response.
  ///
  /// - Parameters:
  ///   - fields: The header fields.
  ///   - now: The current time, in seconds since 1970.
  /// - Complexity: O(n) in the fields. At most 4 KiB of each value are read.
  static func read(_ fields: HTTPFields, now: Int = HTTPDate.now) -> QuotaFields {
    var result = QuotaFields()
    // Dates are those of the server's clock.
    let clock = { HTTPDate.now(by: fields[.date], own: now) }
    result.retryAfter =
      fields[.retryAfter].flatMap { RetryAfter.wait($0, now: clock()) }.flatMap { $0 > .zero ? $0 : nil }
    result.quotas = structured(fields)
    if result.quotas.isEmpty {
      result.quotas = Names.all.lazy.compactMap { single(fields, $0, clock) }.prefix(1).map { $0 }
    }
    return result
  }

  /// Whether there are quota fields. Looks only at the beginnings of names, as `HeaderBlock.mayTellQuotas` does.
  static func areIn(_ fields: HTTPFields) -> Bool {
    fields.contains { field in
      let name = field.name.canonicalName
      return name.hasPrefix("ratelimit") || name.hasPrefix("x-rate") || name.hasPrefix("anthropic-ratelimit")
    }
  }

  /// The names of the single fields for one quota.
  private struct Names {
    let limit, remaining, reset, resetAfter: HTTPField.Name?

    init(_ prefix: String, _ suffix: String = "") {
      (limit, remaining) = (HTTPField.Name(prefix + "Limit" + suffix), HTTPField.Name(prefix + "Remaining" + suffix))
      (reset, resetAfter) = (HTTPField.Name(prefix + "Reset" + suffix), HTTPField.Name(prefix + "Reset-After" + suffix))
    }

    // Created once: a name is checked and lowercased.
    static let all = [
      Names("RateLimit-"), Names("X-RateLimit-"), Names("X-Rate-Limit-"), Names("X-RateLimit-", "-Requests"),
      Names("Anthropic-RateLimit-Requests-"),
    ]
  }

  private static func single(_ fields: HTTPFields, _ names: Names, _ clock: () -> Int) -> Quota? {
    func value(_ name: HTTPField.Name?) -> String? { name.flatMap { fields[$0] } }
    var quota = Quota()
    quota.limit = value(names.limit).flatMap(leadingCount)
    quota.remaining = value(names.remaining).flatMap(leadingCount)
    quota.reset =
      value(names.resetAfter).flatMap(number).flatMap(seconds) ?? value(names.reset).flatMap { reset($0, clock) }
    return quota == Quota() ? nil : quota
  }

  /// Parses `100`, or a leading count: `100, 100;window=60` is a form of the old draft.
  private static func leadingCount(_ value: String) -> Int? {
    // No count has more than twenty digits.
    count(String(value.prefix(21).prefix { !",; ".contains($0) }))
  }

  private static func count(_ text: String) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 20, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    // Twenty digits may not fit.
    return Int(text) ?? .max
  }

  private static func number(_ text: String) -> Double? {
    text.utf8.count <= 40 ? Double(text) : nil
  }

  /// Decimals are allowed. Not negative, and at most a century.
  private static func seconds(_ number: Double) -> Duration? {
    number >= 0 ? .nanoseconds(Int64(min(number, 3.2e9) * 1e9)) : nil
  }

  // No wait lasts 30 years: larger numbers are dates, and those from 1e12 on are in milliseconds.
  private static func reset(_ value: String, _ clock: () -> Int) -> Duration? {
    guard let number = number(value) else {
      if let span = span(value) { return span }
      let now = clock()
      let date = HTTPDate.internetSeconds(value) ?? HTTPDate.seconds(value, now: now)
      return date.map { .seconds(max(0, $0 - now)) }
    }
    if number < 1e9 { return seconds(number) }
    return seconds(max(0, number / (number >= 1e12 ? 1000 : 1) - Double(clock())))
  }

  /// Parses `6m0s`, `1m12.5s`, `20ms`: numbers with the units d, h, m, s or ms.
  private static func span(_ value: String) -> Duration? {
    guard !value.isEmpty, value.utf8.count <= 40 else { return nil }
    var (rest, sum) = (value.utf8[...], 0.0)
    while !rest.isEmpty {
      let digits = rest.prefix { (48...57).contains($0) || $0 == UInt8(ascii: ".") }
      let unit = rest.dropFirst(digits.count).prefix { !(48...57).contains($0) }
      guard let number = Double(Substring(digits)) else { return nil }
      switch Substring(unit) {
      case "d": sum += number * 86_400
      case "h": sum += number * 3600
      case "m": sum += number * 60
      case "s": sum += number
      case "ms": sum += number / 1000
      default: return nil
      }
      rest = rest.dropFirst(digits.count + unit.count)
    }
    return seconds(sum)
  }
}
