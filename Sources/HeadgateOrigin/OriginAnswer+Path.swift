/// An invalid parameter or path component.
private struct BadParameter: Error {
  let name: String
}

extension OriginAnswer {
  /// The response for a path and query; 404 for an unknown path, 400 for an invalid parameter.
  init(for request: OriginRequest, script: OriginScript) {
    do throws(BadParameter) {
      self = try .scripted(request, script) ?? .text("no such path\n", status: 404)
      delay += try request.milliseconds("delay", default: 0)
    } catch {
      self = .text("bad parameter: \(error.name)\n", status: 400)
    }
  }

  private static func scripted(
    _ request: OriginRequest,
    _ script: OriginScript
  ) throws(BadParameter) -> OriginAnswer? {
    let parts = request.path.split(separator: "/")
    switch (parts.first ?? "", parts.count) {
    case ("", _): return .bytes(script.body)
    case ("bytes", 2): return .pattern(count: try number(parts[1], "bytes"))
    case ("status", 2): return try status(request, parts[1])
    case ("delay", 2):
      var answer = OriginAnswer.bytes(script.body)
      answer.delay = .milliseconds(try number(parts[1], "delay"))
      return answer
    case ("redirect", 1): return try redirect(request)
    case ("stream", 1):
      return .stream(
        chunks: try request.number("chunks", default: 1),
        size: try request.number("size", default: 16, upTo: 16 << 20),
        every: try request.milliseconds("every", default: 0)
      )
    case ("hold", 1): return .hold
    case ("silence", 1): return .silence
    case ("reset", 1):
      return request.parameter("after") == nil ? .reset : .reset(after: try request.number("after", default: 0))
    case ("trickle", 1):
      return .trickle(
        count: try request.number("bytes", default: 10),
        every: try request.milliseconds("every", default: 10)
      )
    case ("short", 1):
      return .truncated(
        declared: try request.number("declared", default: 100),
        sent: try request.number("sent", default: 10)
      )
    case ("close", 1):
      var answer = OriginAnswer.bytes(script.body)
      answer.closesConnection = true
      return answer
    case ("echo", 1): return .echo
    case ("headers", 1):
      var answer = OriginAnswer.bytes(script.body)
      answer.headers = filler(count: try request.number("bytes", default: 1024, upTo: 64 << 20))
      return answer
    case ("gzip", 1): return .gzipZeros(count: try request.number("bytes", default: 1 << 20))
    case ("garbage", 1): return .garbage
    case ("torn", 1): return .torn
    case ("spaced", 1): return .spaced
    case ("early", 1): return try early(request)
    case ("sink", 1):
      return .sink(
        pausingAfter: request.parameter("pause") == nil ? nil : try request.number("pause", default: 0))
    default: return nil
    }
  }

  private static func status(
    _ request: OriginRequest,
    _ text: Substring
  ) throws(BadParameter) -> OriginAnswer {
    guard let code = Int(text), (200...999).contains(code) else { throw BadParameter(name: "status") }
    var answer = OriginAnswer.text("status \(code)\n", status: code)
    if let value = request.parameter("retry-after") {
      guard !value.utf8.contains(where: \.isControl) else { throw BadParameter(name: "retry-after") }
      answer.headers = [OriginHeader("Retry-After", value)]
    }
    return answer
  }

  private static func early(_ request: OriginRequest) throws(BadParameter) -> OriginAnswer {
    let code = try request.number("status", default: 413, upTo: 999)
    guard code >= 200 else { throw BadParameter(name: "status") }
    var answer = request.parameter("to") == nil ? .early : try redirect(request)
    answer.status = code
    return answer.early(
      after: try request.number("after", default: 0), abruptly: try request.number("abrupt", default: 0, upTo: 1) == 1)
  }

  private static func redirect(_ request: OriginRequest) throws(BadParameter) -> OriginAnswer {
    // A line end in the location would start further header lines.
    guard let location = request.parameter("to"), !location.utf8.contains(where: \.isControl)
    else { throw BadParameter(name: "to") }
    let code = try request.number("code", default: 302, upTo: 399)
    guard code >= 300 else { throw BadParameter(name: "code") }
    var answer = OriginAnswer.redirect(to: location, status: code)
    if request.parameter("size") != nil { answer.payload = .pattern(try request.number("size", default: 0)) }
    return answer
  }

  /// Header lines of `count` bytes in total, including line ends; none if that is less than the shortest line, 12
  /// bytes.
  static func filler(count: Int) -> [OriginHeader] {
    let line = 1024
    let around = "X-Filler: \r\n".utf8.count
    var headers: [OriginHeader] = []
    var left = count
    while left >= around {
      // The last line includes a rest too short for a line of its own.
      let size = left < line + around ? left : line
      headers.append(OriginHeader("X-Filler", String(repeating: "f", count: size - around)))
      left -= size
    }
    return headers
  }
}

/// The maximum of a number in a path or a query.
private let numberLimit = 1 << 40

private func number(
  _ text: some StringProtocol,
  _ name: String,
  upTo limit: Int = numberLimit
) throws(BadParameter) -> Int {
  guard let value = Int(text), value >= 0, value <= limit else { throw BadParameter(name: name) }
  return value
}

extension OriginRequest {
  fileprivate func number(
    _ name: String,
    default standard: Int,
    upTo limit: Int = numberLimit
  ) throws(BadParameter) -> Int {
    guard let text = parameter(name) else { return standard }
    return try HeadgateOrigin.number(text, name, upTo: limit)
  }

  fileprivate func milliseconds(_ name: String, default standard: Int) throws(BadParameter) -> Duration {
    .milliseconds(try number(name, default: standard))
  }
}
