import HTTPTypes
import HeadgateDispatch

/// Header fields in which a server states a wait or a quota, beside the usual ones.
enum RateFieldsRule: Hashable, Sendable {
  case wait(RateLimitFields.Wait)
  case quota(RateLimitFields.Quota)

  /// `remaining=X-Left,reset=X-Reset,limit=X-Limit,of=tokens,unit=ms`, or `wait=X-Backoff,unit=ms`.
  init(_ text: String) throws(OptionError) {
    var fields: [String: [String]] = [:]
    var words: [String: String] = [:]
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let sign = part.firstIndex(of: "=") else { throw OptionError(Self.usage) }
      let key = part[..<sign].filter { $0 != " " }
      let value = String(part[part.index(after: sign)...])
      switch key {
      case "wait", "remaining", "limit", "reset":
        guard let name = HTTPField.Name(value) else {
          throw OptionError("\"\(value)\" is not the name of a header field")
        }
        guard key == "reset" || fields[key] == nil else { throw OptionError("give \(key) once") }
        fields[key, default: []].append(name.rawName)
      case "of", "unit":
        guard words.updateValue(value, forKey: key) == nil else { throw OptionError("give \(key) once") }
      default: throw OptionError("\"\(key)\" is unknown; \(Self.usage)")
      }
    }
    let numbers = try Self.numbers(words["unit"])
    if let name = fields["wait"]?.first {
      guard fields.count == 1, words["of"] == nil else {
        throw OptionError("wait is for a wait alone; give remaining and reset with another --rate-fields")
      }
      self = .wait(RateLimitFields.Wait(name, numbers: numbers))
    } else {
      guard let remaining = fields["remaining"]?.first, let reset = fields["reset"] else {
        throw OptionError("a quota needs both remaining and reset; \(Self.usage)")
      }
      guard words["of"] != "" else { throw OptionError("of= needs a word, such as tokens") }
      self = .quota(
        RateLimitFields.Quota(
          of: words["of"] ?? "requests", limit: fields["limit"]?.first, remaining: remaining,
          reset: reset.map { RateLimitFields.Wait($0, numbers: numbers) }))
    }
  }

  private static let usage = "write remaining=FIELD,reset=FIELD,unit=s or wait=FIELD,unit=ms"

  private static func numbers(_ unit: String?) throws(OptionError) -> RateLimitFields.Numbers {
    switch unit {
    case nil: .secondsOrMoment
    case "s": .seconds
    case "ms": .milliseconds
    default: throw OptionError("unit is s or ms; without it, numbers are seconds or moments since 1970")
    }
  }
}

extension RateLimitFields {
  /// The usual fields, and before them those that the user has named, which are the better ones.
  init(standardAfter rules: [RateFieldsRule]) {
    self = .standard
    waits = rules.compactMap { if case .wait(let wait) = $0 { wait } else { nil } } + waits
    quotas = rules.compactMap { if case .quota(let quota) = $0 { quota } else { nil } } + quotas
  }
}
