/// One header line of a request or an answer.
public struct OriginHeader: Sendable, Hashable {
  /// The name, spelled as on the wire.
  public var name: String

  /// The value, without the white space around it.
  public var value: String

  /// A header line. Neither part is checked: a script may want to send a wrong one.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// The head of a request, as the ``OriginScript/answerHook`` sees it.
public struct OriginRequest: Sendable {
  /// The method, such as `GET`.
  public let method: String

  /// The request target as sent, such as `/bytes/10?delay=5`.
  public let target: String

  /// The path of the target, still percent-encoded.
  public let path: String

  /// What follows the question mark, still percent-encoded; empty when there is none.
  public let query: String

  /// The header lines in their order.
  public let headers: [OriginHeader]

  /// The index of the end-point that it came to.
  public let endPoint: Int

  let framing: BodyFraming
  let isVersion10: Bool

  /// The first value of a header, whose name is compared without regard to case; nil when there is none.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.equalsIgnoringCase(name) }?.value
  }

  /// The first value of a query parameter, percent-decoded (`+` stays `+`); empty when it has no value and nil when
  /// there is no such parameter.
  public func parameter(_ name: String) -> String? {
    for pair in query.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts[0].percentDecoded == name { return parts.count > 1 ? parts[1].percentDecoded : "" }
    }
    return nil
  }
}

extension OriginRequest {
  /// HTTP/1.0 closes by itself, HTTP/1.1 where the client says so.
  var wantsClose: Bool {
    isVersion10 || headers.contains { $0.name.equalsIgnoringCase("connection") && $0.value.hasToken("close") }
  }

  var expectsContinue: Bool {
    !isVersion10 && header("expect")?.equalsIgnoringCase("100-continue") == true
  }
}
