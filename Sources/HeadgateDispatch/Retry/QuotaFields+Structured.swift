import HTTPTypes
import HeadgateThreads
import RawStructuredFieldValues

// RateLimit and RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers: structured fields (RFC 9651).

extension QuotaFields {
  private static let state = HTTPField.Name("RateLimit")
  private static let policy = HTTPField.Name("RateLimit-Policy")

  /// The quotas of the two fields, empty if neither can be parsed. A quota is identified by its name and partition.
  static func structured(_ fields: HTTPFields, _ clock: () -> Int) -> [Quota] {
    var quotas = state.map { list(fields, $0, clock) } ?? []
    if quotas.isEmpty, let state { quotas = dictionary(fields, state, clock).map { [$0] } ?? [] }
    guard let policy else { return quotas }
    for policy in list(fields, policy, clock) {
      let place = quotas.firstIndex {
        $0.name == policy.name && ($0.partitionKey == nil || $0.partitionKey == policy.partitionKey)
      }
      guard let place else {
        if quotas.count < mostQuotas { quotas.append(policy) }
        continue
      }
      quotas[place].unit = policy.unit
      quotas[place].limit = policy.limit ?? quotas[place].limit
    }
    return quotas
  }

  private static func parser(
    _ fields: HTTPFields, _ name: HTTPField.Name
  ) -> StructuredFieldValueParser<ArraySlice<UInt8>>? {
    guard let value = fields[name], !value.isEmpty, value.utf8.count <= 4096 else { return nil }
    return StructuredFieldValueParser(ArraySlice(value.utf8))
  }

  private static func list(_ fields: HTTPFields, _ name: HTTPField.Name, _ clock: () -> Int) -> [Quota] {
    guard var parser = parser(fields, name), let members = try? parser.parseListFieldValue() else { return [] }
    return Array(members.compactMap { quota($0, clock) }.prefix(mostQuotas))
  }

  private static func quota(_ member: ItemOrInnerList, _ clock: () -> Int) -> Quota? {
    guard case .item(let item) = member else { return nil }
    var quota = Quota()
    switch item.rfc9651BareItem {
    case .string(let name), .token(let name): quota.name = name
    default: return nil
    }
    for (key, value) in item.rfc9651Parameters {
      switch (key, value) {
      case ("q", _): quota.limit = count(value)
      case ("r", _): quota.remaining = count(value)
      case ("t", _): quota.reset = wait(value, clock)
      case ("qu", .string(let unit)), ("qu", .token(let unit)):
        quota.unit = unit == "request" ? "requests" : unit
      case ("pk", .undecodedByteSequence(let key)), ("pk", .string(let key)), ("pk", .token(let key)):
        quota.partitionKey = key
      default: break
      }
    }
    return quota
  }

  /// `limit=100, remaining=50, reset=5`: the form of versions before 08.
  private static func dictionary(_ fields: HTTPFields, _ name: HTTPField.Name, _ clock: () -> Int) -> Quota? {
    guard var parser = parser(fields, name), let members = try? parser.parseDictionaryFieldValue() else { return nil }
    func value<Value>(_ key: String, _ read: (RFC9651BareItem) -> Value?) -> Value? {
      if case .item(let item)? = members[key] { read(item.rfc9651BareItem) } else { nil }
    }
    var quota = Quota()
    quota.limit = value("limit", count)
    quota.remaining = value("remaining", count)
    quota.reset = value("reset") { wait($0, clock) }
    return quota == Quota() ? nil : quota
  }

  // A negative amount counts as 0.
  private static func count(_ item: RFC9651BareItem) -> Int? { number(item).map { Int(max(0, $0)) } }

  private static func wait(_ item: RFC9651BareItem, _ clock: () -> Int) -> Duration? {
    number(item).map { StatedWait.wait(max(0, $0), .secondsOrMoment, clock) }
  }

  // Of at most 15 digits.
  private static func number(_ item: RFC9651BareItem) -> Double? {
    switch item {
    case .integer(let number): Double(number)
    case .decimal(let number): Double(number)
    default: nil
    }
  }
}
