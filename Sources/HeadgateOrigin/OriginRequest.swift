/// A header line of a request or response.
public struct OriginHeader: Sendable, Hashable {
  /// The name, spelled as on the wire.
  public var name: String

  /// The value, without surrounding white space.
  public var value: String

  /// Creates a header line. Neither part is validated, so that a script can send invalid ones.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// The head of a request, for the ``OriginScript/handler``.
public struct OriginRequest: Sendable {
  /// The method, such as `GET`.
  public let method: String

  /// The request target as sent, such as `/bytes/10?delay=5`.
  public let target: String

  /// The path of the target, still percent-encoded.
  public let path: String

  /// The text after the question mark, still percent-encoded; empty if there is none.
  public let query: String

  /// The header lines in order.
  public let headers: [OriginHeader]

  /// The index of the end-point that received it.
  public let endPoint: Int

  let framing: BodyFraming
  let isVersion10: Bool

  /// The first value of a header, whose name is compared ignoring case; nil if there is none.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.equalsIgnoringCase(name) }?.value
  }

  /// The first value of a query parameter, percent-decoded (`+` stays `+`); empty if it has no value, nil if there is
  /// no such parameter.
  public func parameter(_ name: String) -> String? {
    for pair in query.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts[0].percentDecoded == name { return parts.count > 1 ? parts[1].percentDecoded : "" }
    }
    return nil
  }
}

extension OriginRequest {
  /// HTTP/1.0 closes by default, HTTP/1.1 if the client asks for it.
  var wantsClose: Bool {
    isVersion10 || headers.contains { $0.name.equalsIgnoringCase("connection") && $0.value.hasToken("close") }
  }

  var expectsContinue: Bool {
    !isVersion10 && header("expect")?.equalsIgnoringCase("100-continue") == true
  }
}
