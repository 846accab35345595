import HTTPTypes

/// The header fields in which servers say how long to wait, and what is left of a quota: one table for all servers.
///
/// A program adds the words of its own server, or takes some away:
///
///     var fields = RateLimitFields.standard
///     fields.waits.append(.init("X-Backoff-Ms", numbers: .milliseconds))
///     fields.quotas.append(.init(of: "credits", remaining: "X-Credits-Left", reset: [.init("X-Credits-Reset")]))
///     fields.quotas.removeAll { $0.unit == "output-tokens" }
///     let dispatcher = URLDispatcher(transport: try CurlTransport(), rateLimitFields: fields)
///
/// The structured fields `RateLimit` and `RateLimit-Policy` name their quotas themselves, and are always read. Of all
/// other fields, those in the table are read. Names are compared without regard to case; a text that is no name of a
/// field matches none. A value may be a list, as several fields of one name are: then each element is read, and those
/// that can't be parsed are ignored. While `GateLimits.pauses` is nil, quotas have no effect, and a wait delays only
/// the next attempt of the same request.
public struct RateLimitFields: Hashable, Sendable {
  /// The fields that ask for a wait. If a response has several, the longest wait counts.
  ///
  /// Only responses that may refuse (429, 503 and 403), and those that are retried, are searched for them.
  public var waits: [Wait]

  /// The fields that report quotas. Of several rows with one unit, the first one counts whose field for the rest is in
  /// the response: the fields of earlier rows are the better ones where a server sends two forms.
  public var quotas: [Quota]

  /// Creates a table.
  ///
  /// - Parameters:
  ///   - waits: The fields that ask for a wait.
  ///   - quotas: The fields that report quotas, the better ones first.
  public init(waits: [Wait] = [], quotas: [Quota] = []) { (self.waits, self.quotas) = (waits, quotas) }

  /// What a number means. Beside numbers, every field may have durations such as `6m0s`, `12.5s` or `250ms`, the dates
  /// of RFC 9110, and those of RFC 3339. A date counts from the response's own `Date` field, since clocks differ.
  public enum Numbers: Hashable, Sendable {
    /// Seconds from now, with or without decimals.
    case seconds
    /// Milliseconds from now, with or without decimals.
    case milliseconds
    /// Seconds from now, or the time since 1970: no wait lasts thirty years, so 10⁹ and more is a moment. The number of
    /// its digits says whether it is in seconds, milliseconds, microseconds or nanoseconds.
    case secondsOrMoment
  }

  /// A field that states a time from now: how long to wait, or when a quota is full again.
  public struct Wait: Hashable, Sendable {
    let name: HTTPField.Name?
    let numbers: Numbers

    /// Creates the description of a field.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - numbers: What its value means if it is a number.
    public init(_ name: String, numbers: Numbers = .secondsOrMoment) {
      (self.name, self.numbers) = (HTTPField.Name(name), numbers)
    }
  }

  /// The fields that report one quota.
  public struct Quota: Hashable, Sendable {
    /// What the quota counts: `requests`, or the name of a `Budget`, such as `tokens`.
    public let unit: String

    let limit, remaining: HTTPField.Name?
    let reset: [Wait]

    /// Creates a row of the table.
    ///
    /// - Parameters:
    ///   - unit: What the quota counts. A quota of requests delays starts. One of anything else has an effect only
    ///     when nothing is left of it: then it delays all starts.
    ///   - limit: The field with the size of the quota. A quota of 0 is none. Nil if there is no such field.
    ///   - remaining: The field with what is left. Fractions are dropped, and negative numbers ignored.
    ///   - reset: The fields that say when more becomes available, the better one first. Without one of them in the
    ///     response, a report has no effect.
    public init(of unit: String, limit: String? = nil, remaining: String, reset: [Wait]) {
      self.unit = unit
      (self.limit, self.remaining) = (limit.flatMap { HTTPField.Name($0) }, HTTPField.Name(remaining))
      self.reset = reset
    }

    // `X-RateLimit-`, `-Tokens`: X-RateLimit-Limit-Tokens, X-RateLimit-Remaining-Tokens, X-RateLimit-Reset-Tokens.
    fileprivate init(of unit: String, _ prefix: String, _ suffix: String = "") {
      self.init(
        of: unit, limit: "\(prefix)Limit\(suffix)", remaining: "\(prefix)Remaining\(suffix)",
        reset: [Wait("\(prefix)Reset-After\(suffix)"), Wait("\(prefix)Reset\(suffix)")])
    }
  }

  /// The words of many servers.
  ///
  /// | fields | unit | of |
  /// |---|---|---|
  /// | `Retry-After` | | RFC 9110 |
  /// | `Retry-After-Ms`, `X-MS-Retry-After-Ms` | | OpenAI, Azure |
  /// | `RateLimit-Limit`, `-Remaining`, `-Reset` | requests | the first drafts of `RateLimit` |
  /// | `X-RateLimit-…`, `X-Rate-Limit-…`, with `-Reset-After` | requests | GitHub, Discord and many others |
  /// | `X-RateLimit-…-Requests` | requests | OpenAI and others |
  /// | `X-RateLimit-…-Tokens` | tokens | OpenAI and others |
  /// | `Anthropic-RateLimit-Requests-…` | requests | Anthropic |
  /// | `Anthropic-RateLimit-Tokens-…` | tokens | Anthropic |
  /// | `Anthropic-RateLimit-Input-Tokens-…`, `-Output-Tokens-…` | input-tokens, output-tokens | Anthropic |
  public static let standard = RateLimitFields(
    waits: [
      Wait("Retry-After", numbers: .seconds), Wait("Retry-After-Ms", numbers: .milliseconds),
      Wait("X-MS-Retry-After-Ms", numbers: .milliseconds),
    ],
    quotas: [
      Quota(of: "requests", "RateLimit-"), Quota(of: "requests", "X-RateLimit-"),
      Quota(of: "requests", "X-Rate-Limit-"), Quota(of: "requests", "X-RateLimit-", "-Requests"),
      Quota(of: "requests", "Anthropic-RateLimit-Requests-"), Quota(of: "tokens", "X-RateLimit-", "-Tokens"),
      Quota(of: "tokens", "Anthropic-RateLimit-Tokens-"),
      Quota(of: "input-tokens", "Anthropic-RateLimit-Input-Tokens-"),
      Quota(of: "output-tokens", "Anthropic-RateLimit-Output-Tokens-"),
    ])
}
