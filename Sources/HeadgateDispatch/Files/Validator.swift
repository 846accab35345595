import HTTPTypes

/// Identifies the version of a body. It is valid for its URL only, even if another URL has the same body.
package struct Validator: Hashable, Sendable {
  /// The field ETag as received. Never empty.
  package let tag: String?
  /// The field Last-Modified as received. Never empty.
  package let modified: String?

  /// Empty fields identify nothing, and count as missing.
  package init(tag: String? = nil, modified: String? = nil) {
    self.tag = tag.flatMap { $0.isEmpty ? nil : $0 }
    self.modified = modified.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The value for `If-Range`, which must be a strong validator. Otherwise parts of two versions could be joined (RFC
  /// 9110, section 13.1.5). A date is strong only if nothing changed within its second, which can't be known here, so
  /// dates are not used.
  package var forRange: String? { tag.flatMap { $0.hasPrefix("W/") ? nil : $0 } }

  package var isEmpty: Bool { tag == nil && modified == nil }

  /// The date, in seconds since 1970. Nil without a valid one.
  var modifiedSeconds: Int? { modified.flatMap(ResponseHead.seconds(ofDate:)) }
}

/// The beginning of a body that is stored already. A request asks for the rest of it.
package struct PartialBody: Hashable, Sendable {
  /// In bytes, at least 1.
  package let size: Int
  package let validator: Validator

  /// Nil if the rest can't be requested: without bytes, or without a strong validator.
  package init?(size: Int, _ validator: Validator) {
    guard size > 0, validator.forRange != nil else { return nil }
    (self.size, self.validator) = (size, validator)
  }

  /// Whether the responses to a request can be continued. Those to a range that the caller requests are stored as they
  /// are. The rest of an unpacked body can't be requested: ranges count bytes of the packed one.
  static func isPossible(for request: DispatchRequest) -> Bool {
    request.method == .get && request.body == nil && request.headerFields[.range] == nil
      && !(request.acceptsCompression ?? false)
  }

  /// Requests the rest, or the whole body if there is no part.
  static func ask(for part: PartialBody?, in request: inout DispatchRequest) {
    request.headerFields[.range] = part.map { "bytes=\($0.size)-" }
    request.headerFields[.ifRange] = part?.validator.forRange
  }
}
