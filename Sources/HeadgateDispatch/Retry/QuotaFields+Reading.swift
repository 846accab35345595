import HTTPTypes
import HeadgateThreads

// The structured fields first, which are the standard's:
//
//     RateLimit: "hour";r=0;t=1200            draft-ietf-httpapi-ratelimit-headers-08 and later, with RateLimit-Policy
//     RateLimit: limit=100, remaining=0, reset=50                                the same draft up to version 07
//
// Then those of the table, for units of which the structured ones say nothing.

extension QuotaFields {
  /// Parses the fields of a response.
  ///
  /// - Parameters:
  ///   - fields: The header fields.
  ///   - table: The names and meanings of fields.
  ///   - now: The current time, in seconds since 1970.
  /// - Complexity: O(n) in the fields. At most 4 KiB of each value are read.
  static func read(
    _ fields: HTTPFields, by table: RateLimitFields = .standard, now: Int = HTTPDate.now
  ) -> QuotaFields {
    // Dates are those of the server's clock.
    let clock = { HTTPDate.now(by: fields[.date], own: now) }
    var result = QuotaFields()
    result.retryAfter = table.wait(clock) { fields[$0] }.flatMap { $0 > .zero ? $0 : nil }
    result.quotas = structured(fields, clock)
    for row in table.quotas
    where !result.quotas.contains(where: { $0.unit == row.unit && $0.remaining != nil }) {
      result.quotas += single(fields, row, clock).prefix(max(0, mostQuotas - result.quotas.count))
    }
    return result
  }

  /// Whether there are quota fields. Looks only at the beginnings of names.
  static func areIn(_ fields: HTTPFields) -> Bool { fields.contains { isUsual($0.name) } }

  /// Whether a name begins like those of the standard table, as `HeaderBlock.mayTellQuotas` knows them.
  static func isUsual(_ name: HTTPField.Name) -> Bool {
    let name = name.canonicalName
    return name.hasPrefix("ratelimit") || name.hasPrefix("x-rate") || name.hasPrefix("anthropic-ratelimit")
  }

  /// The quotas of one row. Servers with several quotas of one unit send lists: `X-RateLimit-Remaining: 0, 14523` and
  /// `X-RateLimit-Reset: 1, 1419704`. A list that is shorter than another one continues with its last element.
  private static func single(_ fields: HTTPFields, _ row: RateLimitFields.Quota, _ clock: () -> Int) -> [Quota] {
    func counts(_ name: HTTPField.Name?) -> [Int?] {
      name.flatMap { fields[$0] }.map { StatedWait.elements(of: $0).map(count) } ?? []
    }
    let remaining = counts(row.remaining)
    guard remaining.contains(where: { $0 != nil }) else { return [] }
    let limits = counts(row.limit)
    var resets: [Duration?] = []
    for field in row.reset where !resets.contains(where: { $0 != nil }) {
      resets = field.name.flatMap { fields[$0] }.map { StatedWait.all(in: $0, field.numbers, clock) } ?? []
    }
    return (0..<max(remaining.count, resets.count)).compactMap { place in
      func element<Value>(_ list: [Value?]) -> Value? { list.isEmpty ? nil : list[min(place, list.count - 1)] }
      return element(remaining).map {
        Quota(unit: row.unit, limit: element(limits), remaining: $0, reset: element(resets))
      }
    }
  }

  /// Parses `100`, `100 per minute` or `595.0`.
  private static func count(_ text: String) -> Int? {
    StatedWait.number(String(text.prefix { $0 != " " })).map { $0 < 0x1p62 ? Int($0) : .max }
  }
}

extension RateLimitFields {
  /// The names of fields that report a quota and do not begin like those of the standard table: no transport looks for
  /// them.
  var unusualNames: [HTTPField.Name] { quotas.compactMap(\.remaining).filter { !QuotaFields.isUsual($0) } }
}
