/// The current request of a connection and its response.
struct Exchange {
  var answer: OriginAnswer
  /// Nil if the request's head was malformed; such an exchange is not counted.
  var request: OriginRequest?
  var closes: Bool

  var isCounted: Bool { request != nil }

  init(_ request: OriginRequest, _ answer: OriginAnswer) {
    self.request = request
    self.answer = answer
    closes = request.wantsClose || answer.closesConnection || answer.isEarly && !answer.staysOpen
  }

  init(malformed status: Int) {
    answer = .text("malformed request\n", status: status)
    closes = true
  }

  /// Whether the answer has no body because of the method or the status (RFC 9112, section 6.3).
  var isBodyless: Bool { request?.method == "HEAD" || [204, 304].contains(answer.status) }

  /// The request's body is complete: makes a response that depends on it.
  mutating func bodyEnded(_ reader: BodyReader) {
    if case .reading(let respond) = answer.payload {
      let delay = answer.delay
      answer = respond(reader.kept)
      answer.delay += delay
      answer.answersAfter = nil
      closes = closes || answer.closesConnection
    }
    echo(reader)
  }

  /// Copies the request's body and header lines, or the body's length, into a response that echoes them.
  private mutating func echo(_ reader: BodyReader) {
    if case .bodyCount = answer.payload { answer.payload = .bytes(Array("\(reader.count)".utf8)) }
    guard case .echo = answer.payload, let request else { return }
    answer.payload = .bytes(reader.kept)
    answer.headers.append(OriginHeader("X-Method", request.method))
    for header in request.headers {
      answer.headers.append(OriginHeader("X-Echo-" + header.name, header.value))
    }
  }

  /// Appends the response's head to `output` and returns the source of its body.
  mutating func begin(_ output: inout [UInt8]) -> PayloadSource {
    let isOld = request?.isVersion10 == true
    // Without chunks, only the end of the connection marks the end of a stream.
    if isOld, answer.payload.declaredCount == nil { closes = true }
    var source = PayloadSource(answer.payload, isFramed: !isOld)
    if case .raw = answer.payload { return source }

    func put(_ text: String) { output.append(contentsOf: text.utf8) }
    put("HTTP/1.1 \(answer.status) \(reason(answer.status))\r\n")
    if !answer.headers.contains(where: { $0.name.equalsIgnoringCase("content-type") }) {
      put("Content-Type: \(answer.payload.contentType)\r\n")
    }
    if let count = answer.payload.declaredCount {
      if answer.status != 204 { put("Content-Length: \(count)\r\n") }
    } else if !isOld {
      put("Transfer-Encoding: chunked\r\n")
    }
    for header in answer.headers {
      put(header.name)
      put(": ")
      put(header.value)
      put("\r\n")
    }
    put(closes ? "Connection: close\r\n\r\n" : "\r\n")
    if isBodyless { source.omitBody() }
    return source
  }
}

private func reason(_ status: Int) -> String {
  switch status {
  case 200: "OK"
  case 201: "Created"
  case 204: "No Content"
  case 301: "Moved Permanently"
  case 302: "Found"
  case 303: "See Other"
  case 304: "Not Modified"
  case 307: "Temporary Redirect"
  case 308: "Permanent Redirect"
  case 400: "Bad Request"
  case 404: "Not Found"
  case 417: "Expectation Failed"
  case 413: "Content Too Large"
  case 429: "Too Many Requests"
  case 431: "Request Header Fields Too Large"
  case 500: "Internal Server Error"
  case 503: "Service Unavailable"
  default: "Scripted"
  }
}
