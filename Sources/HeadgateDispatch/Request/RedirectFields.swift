// Which header fields are kept by a redirect to another scheme, host or port.
//
// A list of allowed fields rather than forbidden ones, since the names of API key fields (`X-Api-Key`) are unlimited.

import HTTPTypes

enum RedirectFields {
  /// Fields that state preferences or describe the body, and trace fields. Not `Host`, which belongs to the old
  /// origin.
  ///
  /// Conditional fields are kept although another server may not know the entity tags. Without them, a range could be
  /// appended to a different version of a file, and a conditional update would become unconditional.
  private static let harmless = bodys.union(
    [
      "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Pragma", "User-Agent",
      "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
      "traceparent", "tracestate",
    ].compactMap { HTTPField.Name($0) })

  /// Fields that describe the body, dropped with it.
  private static let bodys = Set(
    [
      "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Range", "Expect",
    ].compactMap { HTTPField.Name($0) })

  private static let baggage = HTTPField.Name("baggage")

  /// The fields for another origin.
  ///
  /// - Parameter observers: The names of fields that observers have set, usually for tracing. `baggage` is dropped:
  ///   it is meant for the services of one organization.
  static func forAnotherOrigin(_ fields: HTTPFields, of observers: Set<HTTPField.Name> = []) -> HTTPFields {
    fields.filter { harmless.contains($0.name) || observers.contains($0.name) && $0.name != baggage }
  }

  /// The fields without those that describe a body.
  static func withoutBody(_ fields: HTTPFields) -> HTTPFields { fields.filter { !bodys.contains($0.name) } }
}
