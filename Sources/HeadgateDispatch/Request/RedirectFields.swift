// Which header fields go along when a redirect leads to another scheme, host or port.
//
// A list of what may go, not of what may not: keys of an interface have names that nobody can list (`X-Api-Key`).

import HTTPTypes

enum RedirectFields {
  /// The fields that say what is wanted or describe the body that goes along, and those of a trace. Not `Host`, which
  /// belongs to the old origin.
  ///
  /// The conditional ones go along although another server may not know their tags: without them a part could be joined
  /// to another version of the whole, and what was to be changed only as it is known would be changed anyway.
  private static let harmless = Set(
    [
      "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Pragma", "User-Agent",
      "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
      "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Range", "Expect",
      "traceparent", "tracestate",
    ].compactMap { HTTPField.Name($0) })

  /// What describes a body, and goes when that goes.
  private static let bodys = Set(
    [
      "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Range", "Expect",
    ].compactMap { HTTPField.Name($0) })

  private static let baggage = HTTPField.Name("baggage")

  /// The fields for another origin.
  ///
  /// - Parameter observers: The names of those that observers have set, of a trace most often. What a trace carries for
  ///   the services of one house, its baggage, stays there.
  static func forAnotherOrigin(_ fields: HTTPFields, of observers: Set<HTTPField.Name> = []) -> HTTPFields {
    only(fields) { harmless.contains($0) || observers.contains($0) && $0 != baggage }
  }

  /// The fields without those of a body.
  static func withoutBody(_ fields: HTTPFields) -> HTTPFields { only(fields) { !bodys.contains($0) } }

  private static func only(_ fields: HTTPFields, _ isKept: (HTTPField.Name) -> Bool) -> HTTPFields {
    if fields.allSatisfy({ isKept($0.name) }) { return fields }
    var kept = HTTPFields()
    for field in fields where isKept(field.name) { kept.append(field) }
    return kept
  }
}
