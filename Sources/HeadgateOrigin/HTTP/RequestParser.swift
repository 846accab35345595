// Parses the head of a request (RFC 9112) strictly: ambiguous input is rejected.

/// Where the body of a request ends.
enum BodyFraming: Sendable, Hashable {
  case none
  case length(Int)
  case chunked
}

/// Finds and parses request heads in the input of a connection.
struct RequestParser {
  enum Outcome {
    case incomplete
    /// The request and the index of the first byte after its head.
    case request(OriginRequest, end: Int)
    /// The error status for the client.
    case malformed(status: Int)
  }

  /// The maximum size of a head in bytes.
  static let limit = 64 * 1024

  // Where the search for the end continues, so that a head that arrives byte by byte is not searched repeatedly.
  private var searched = 0

  /// Searches for a complete head that begins at `start`.
  mutating func parse(_ bytes: [UInt8], from start: Int, endPoint: Int) -> Outcome {
    var first = start
    // Some clients send empty lines before a request (RFC 9112, section 2.2).
    while first < bytes.count, bytes[first] == .carriageReturn || bytes[first] == .lineFeed { first += 1 }
    guard let end = endOfHead(bytes, from: max(first, searched)) else {
      searched = max(first, bytes.count - 3)
      return bytes.count - first > Self.limit ? .malformed(status: 431) : .incomplete
    }
    searched = 0
    guard end - first <= Self.limit else { return .malformed(status: 431) }
    guard let request = Self.read(bytes, first..<end, endPoint) else { return .malformed(status: 400) }
    return .request(request, end: end)
  }

  /// The connection's buffer was shortened at its front.
  mutating func dropped(_ count: Int) { searched = max(0, searched - count) }

  private func endOfHead(_ bytes: [UInt8], from start: Int) -> Int? {
    var index = start
    while index < bytes.count {
      if bytes[index] == .lineFeed {
        if index + 1 < bytes.count, bytes[index + 1] == .lineFeed { return index + 2 }
        if index + 2 < bytes.count, bytes[index + 1] == .carriageReturn, bytes[index + 2] == .lineFeed {
          return index + 3
        }
      }
      index += 1
    }
    return nil
  }

  private static func read(_ bytes: [UInt8], _ range: Range<Int>, _ endPoint: Int) -> OriginRequest? {
    var lines = Lines(bytes: bytes, position: range.lowerBound)
    guard let first = lines.next() else { return nil }
    let words = bytes[first].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard words.count == 3, !words[0].isEmpty, words[0].allSatisfy(\.isTokenByte), !words[1].isEmpty,
      !words[1].contains(where: \.isControl)
    else { return nil }
    let version = String(decoding: words[2], as: UTF8.self)
    guard version == "HTTP/1.1" || version == "HTTP/1.0" else { return nil }

    var headers: [OriginHeader] = []
    while let line = lines.next(), !line.isEmpty {
      guard let header = header(bytes[line]) else { return nil }
      headers.append(header)
    }
    guard let framing = framing(headers) else { return nil }
    let hosts = headers.count { $0.name.equalsIgnoringCase("host") }
    guard hosts == 1 || hosts == 0 && version == "HTTP/1.0" else { return nil }

    let target = String(decoding: words[1], as: UTF8.self)
    let (path, query) = split(target)
    return OriginRequest(
      method: String(decoding: words[0], as: UTF8.self),
      target: target,
      path: path,
      query: query,
      headers: headers,
      endPoint: endPoint,
      framing: framing,
      isVersion10: version == "HTTP/1.0"
    )
  }

  private static func header(_ line: ArraySlice<UInt8>) -> OriginHeader? {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return nil }
    let name = line[..<colon]
    // White space before the colon and folded lines are rejected here too: neither is a token.
    guard name.allSatisfy(\.isTokenByte) else { return nil }
    var value = line[(colon + 1)...]
    while let first = value.first, first == .space || first == .tab { value.removeFirst() }
    while let last = value.last, last == .space || last == .tab { value.removeLast() }
    guard !value.contains(where: \.isControl) else { return nil }
    return OriginHeader(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
  }

  /// Nil if two header lines disagree, as in request smuggling.
  private static func framing(_ headers: [OriginHeader]) -> BodyFraming? {
    var framing = BodyFraming.none
    for header in headers {
      if header.name.equalsIgnoringCase("content-length") {
        guard !header.value.isEmpty, header.value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
          let length = Int(header.value), framing == .none || framing == .length(length)
        else { return nil }
        framing = .length(length)
      } else if header.name.equalsIgnoringCase("transfer-encoding") {
        guard framing == .none, header.value.equalsIgnoringCase("chunked") else { return nil }
        framing = .chunked
      }
    }
    return framing
  }

  /// The path and query of a target, which includes scheme and host in requests to a proxy.
  private static func split(_ target: String) -> (path: String, query: String) {
    var rest = Substring(target.prefix { $0 != "#" })
    if rest.prefix(7).equalsIgnoringCase("http://") {
      rest = rest.dropFirst(7).drop { $0 != "/" && $0 != "?" }
    }
    let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = parts[0].isEmpty ? "/" : String(parts[0])
    return (path, parts.count > 1 ? String(parts[1]) : "")
  }
}

/// Iterates over lines that end in LF or CRLF.
private struct Lines {
  let bytes: [UInt8]
  var position: Int

  /// The next line without its end; nil if no line end follows.
  mutating func next() -> Range<Int>? {
    guard let lineFeed = bytes[position...].firstIndex(of: .lineFeed) else { return nil }
    let start = position
    position = lineFeed + 1
    let hasReturn = lineFeed > start && bytes[lineFeed - 1] == .carriageReturn
    return start..<(hasReturn ? lineFeed - 1 : lineFeed)
  }
}

extension UInt8 {
  static let lineFeed = UInt8(ascii: "\n")
  static let carriageReturn = UInt8(ascii: "\r")
  static let space = UInt8(ascii: " ")
  static let tab = UInt8(ascii: "\t")
}
