/// The response of an ``Origin`` to a request: valid, invalid on purpose, or none.
///
/// Created from the paths of the origin, or by an ``OriginScript/handler``.
public struct OriginAnswer: Sendable {
  /// The status. Default: 200.
  public var status = 200

  /// Header lines in addition to `Content-Length` or `Transfer-Encoding`, and `Connection`. A `Content-Type` replaces
  /// that of the body.
  public var headers: [OriginHeader] = []

  /// The delay before the response, counted from the end of the request.
  public var delay: Duration = .zero

  /// Whether to send `Connection: close` and close the connection after the response.
  public var closesConnection = false

  var payload: Payload
  var conduct = Conduct.answer
  /// The number of body bytes to read before the response; nil for the whole body. If set, the connection closes
  /// after the response.
  var answersAfter: Int?
  /// Whether to close the connection at once in that case, instead of leaving the client time to read the response.
  var isAbrupt = false
  /// Whether to keep the connection open in that case, for a client that has not sent any of the body.
  var staysOpen = false
  /// The number of body bytes to read before pausing until ``Origin/release()``.
  var pausesAfter: Int?

  var isEarly: Bool { answersAfter != nil }

  enum Conduct { case answer, hold, silence, reset }

  init(_ payload: Payload) { self.payload = payload }

  /// The byte at an index of every generated body.
  public static func patternByte(at index: Int) -> UInt8 { Pattern.byte(at: index) }
}

extension OriginAnswer {
  /// Responds with text.
  public static func text(_ text: String, status: Int = 200) -> OriginAnswer {
    .bytes(Array(text.utf8), status: status)
  }

  /// Responds with these bytes, as `text/plain`.
  public static func bytes(_ bytes: [UInt8], status: Int = 200) -> OriginAnswer {
    var answer = OriginAnswer(.bytes(bytes))
    answer.status = status
    return answer
  }

  /// Responds with `count` bytes of ``patternByte(at:)``, generated as the client reads them. A negative count is
  /// treated as zero.
  public static func pattern(count: Int) -> OriginAnswer { OriginAnswer(.pattern(max(0, count))) }

  /// Responds with a redirect. The location is written to the header unchanged.
  public static func redirect(to location: String, status: Int = 302) -> OriginAnswer {
    var answer = text("moved\n", status: status)
    answer.headers = [OriginHeader("Location", location)]
    return answer
  }

  /// Responds with a stream in chunked encoding: a number of chunks (0: endless) of a size (at least one byte), the
  /// first at once and each later one after an interval.
  public static func stream(chunks: Int, size: Int, every interval: Duration) -> OriginAnswer {
    OriginAnswer(.chunks(count: max(0, chunks), size: max(1, size), every: interval))
  }

  /// Responds with a body of known length, one byte per interval.
  public static func trickle(count: Int, every interval: Duration) -> OriginAnswer {
    OriginAnswer(.trickle(count: max(0, count), every: interval))
  }

  /// Responds with zero bytes, compressed by gzip to about a thousandth.
  public static func gzipZeros(count: Int) -> OriginAnswer {
    var answer = OriginAnswer(.zeros(GzipZeros(count: max(0, count))))
    answer.headers = [OriginHeader("Content-Encoding", "gzip")]
    return answer
  }

  /// Declares the length of a body, sends at most that many bytes of it, and then closes the connection.
  public static func truncated(declared: Int, sent: Int) -> OriginAnswer {
    let sent = max(0, sent)
    return OriginAnswer(.partial(declared: max(declared, sent), sent: sent, ending: .cut))
  }

  /// Resets the connection without a response.
  public static var reset: OriginAnswer {
    var answer = OriginAnswer(.bytes([]))
    answer.conduct = .reset
    return answer
  }

  /// Resets the connection after a number of bytes of a longer body have been passed to the system.
  public static func reset(after count: Int) -> OriginAnswer {
    let count = min(max(0, count), .max / 2)
    return OriginAnswer(.partial(declared: 2 * count + 1024, sent: count, ending: .reset))
  }

  /// Holds the request until ``Origin/release()``, then responds with status 200.
  public static var hold: OriginAnswer {
    var answer = text("released\n")
    answer.conduct = .hold
    return answer
  }

  /// Never responds.
  public static var silence: OriginAnswer {
    var answer = OriginAnswer(.bytes([]))
    answer.conduct = .silence
    return answer
  }

  /// Responds with the request's body, its method as `X-Method` and its header lines as `X-Echo-NAME`.
  public static var echo: OriginAnswer { OriginAnswer(.echo) }

  /// Reads the request's body, up to 64 MiB of it, and then responds as `respond` says.
  ///
  ///     .reading { body in body.isEmpty ? .text("no order", status: 400) : .text("accepted", status: 202) }
  ///
  /// - Parameter respond: Returns the response to a body. It runs on the thread that serves all connections, so it must
  ///   return soon. A response that it returns can't read the body again, or be early.
  public static func reading(_ respond: @escaping @Sendable ([UInt8]) -> OriginAnswer) -> OriginAnswer {
    OriginAnswer(.reading(respond))
  }

  /// Responds with an incomplete head: a status line and a field, then the end of the connection.
  public static var torn: OriginAnswer { OriginAnswer(.raw(Array("HTTP/1.1 200 OK\r\nServer: torn\r\n".utf8))) }

  /// Responds with two spaces in the status line, which lenient clients accept as status 200.
  public static var spaced: OriginAnswer {
    OriginAnswer(.raw(Array("HTTP/1.1  200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".utf8)))
  }

  /// Responds with bytes that are not HTTP, then closes the connection.
  public static var garbage: OriginAnswer { OriginAnswer(.raw(Array("\u{1}not HTTP at all\u{0}\r\n\r\n".utf8))) }

  /// Responds with status 413 before reading the request's body, then closes the connection.
  public static var early: OriginAnswer { text("too large\n", status: 413).early() }

  /// Sends this response before the request's body has been read completely, then closes the connection.
  ///
  /// - Parameters:
  ///   - count: The number of body bytes to read first; a shorter body is read completely.
  ///   - staysOpen: Whether the connection stays open, for a client that waits for `100 Continue` and does not send
  ///     the body.
  ///   - isAbrupt: Whether the connection is closed at once, which resets it while the client still sends. Otherwise
  ///     data from the client is read and discarded for a few seconds.
  public func early(
    after count: Int = 0, stayingOpen staysOpen: Bool = false, abruptly isAbrupt: Bool = false
  ) -> OriginAnswer {
    var answer = self
    answer.answersAfter = max(0, count)
    answer.isAbrupt = isAbrupt
    answer.staysOpen = staysOpen
    return answer
  }

  /// Responds with the length of the request's body, in digits.
  ///
  /// - Parameter count: The number of bytes after which reading pauses until ``Origin/release()``; nil for no pause.
  ///   During the pause a disconnect of the client is not detected.
  public static func sink(pausingAfter count: Int? = nil) -> OriginAnswer {
    var answer = OriginAnswer(.bodyCount)
    answer.pausesAfter = count
    return answer
  }
}
