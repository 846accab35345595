import HTTPTypes
import HeadgateThreads

// The supported forms, the standard's first. If a response has several, the first one that can be parsed counts.
//
//     RateLimit: "hour";r=0;t=1200            draft-ietf-httpapi-ratelimit-headers-08 and later, with RateLimit-Policy
//     RateLimit: limit=100, remaining=0, reset=50                                the same draft up to version 07
//     RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset                      the same draft up to version 06
//     X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset (seconds from now, or since 1970; GitHub and others)
//     X-RateLimit-Reset-After (seconds with decimals), X-Rate-Limit-…
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
    result.retryAfter = fields[.retryAfter].flatMap { RetryAfter.wait($0, now: now) }.flatMap { $0 > .zero ? $0 : nil }
    result.quotas = structured(fields)
    if result.quotas.isEmpty {
      let prefixes = ["RateLimit-", "X-RateLimit-", "X-Rate-Limit-"]
      result.quotas = prefixes.lazy.compactMap { single(fields, $0, now: now) }.prefix(1).map { $0 }
    }
    return result
  }

  /// Whether there are quota fields. Looks only at the names.
  static func areIn(_ fields: HTTPFields) -> Bool {
    fields.contains { field in
      let name = field.name.canonicalName
      return name.hasPrefix("ratelimit") || name.hasPrefix("x-rate")
    }
  }

  private static func single(_ fields: HTTPFields, _ prefix: String, now: Int) -> Quota? {
    func value(_ suffix: String) -> String? { HTTPField.Name(prefix + suffix).flatMap { fields[$0] } }
    var quota = Quota()
    quota.limit = value("Limit").flatMap(leadingCount)
    quota.remaining = value("Remaining").flatMap(leadingCount)
    quota.reset =
      value("Reset-After").flatMap(number).flatMap(seconds) ?? value("Reset").flatMap { reset($0, now: now) }
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
  private static func reset(_ value: String, now: Int) -> Duration? {
    guard let number = number(value) else {
      return HTTPDate.seconds(value, now: now).map { .seconds(max(0, $0 - now)) }
    }
    if number < 1e9 { return seconds(number) }
    return seconds(max(0, number / (number >= 1e12 ? 1000 : 1) - Double(now)))
  }
}
