/// What an ``Origin`` does with one request: an answer, right or wrong on purpose, or none.
///
/// The paths of the origin make these, and an ``OriginScript/answerHook`` can.
public struct OriginAnswer: Sendable {
  /// The status; 200 unless said otherwise.
  public var status = 200

  /// Header lines beside `Content-Type`, `Content-Length` or `Transfer-Encoding`, and `Connection`.
  public var headers: [OriginHeader] = []

  /// How long to wait before the answer, from the end of the request.
  public var delay: Duration = .zero

  /// Whether the answer says `Connection: close` and the connection ends after it.
  public var closesConnection = false

  var payload: Payload
  var conduct = Conduct.answer
  /// After how many bytes of the request's body the answer is sent; nil: after all of them. If not, the connection closes
  /// after the answer.
  var answersAfter: Int?
  /// Whether the connection is closed at once then, and not when the client has had the time to read the answer.
  var isAbrupt = false
  /// Whether the connection stays then, for a client that has not begun the body.
  var staysOpen = false
  /// After how many bytes of the request's body nothing more is read until ``Origin/release()``.
  var pausesAfter: Int?

  var isEarly: Bool { answersAfter != nil }

  enum Conduct { case answer, hold, silence, reset }

  init(_ payload: Payload) { self.payload = payload }

  /// The byte that stands at an index of every generated body.
  public static func patternByte(at index: Int) -> UInt8 { Pattern.byte(at: index) }
}

extension OriginAnswer {
  /// A text.
  public static func text(_ text: String, status: Int = 200) -> OriginAnswer {
    .bytes(Array(text.utf8), status: status)
  }

  /// These bytes, as `text/plain`.
  public static func bytes(_ bytes: [UInt8], status: Int = 200) -> OriginAnswer {
    var answer = OriginAnswer(.bytes(bytes))
    answer.status = status
    return answer
  }

  /// So many bytes of ``patternByte(at:)``, made as the client takes them. A negative count is taken as zero.
  public static func pattern(count: Int) -> OriginAnswer { OriginAnswer(.pattern(max(0, count))) }

  /// A redirect to a location, whose text goes into the header as it is.
  public static func redirect(to location: String, status: Int = 302) -> OriginAnswer {
    var answer = text("moved\n", status: status)
    answer.headers = [OriginHeader("Location", location)]
    return answer
  }

  /// A stream in chunked transfer encoding: so many chunks (0: endless) of so many bytes (at least one), the first at
  /// once and each later one an interval after the one before.
  public static func stream(chunks: Int, size: Int, every interval: Duration) -> OriginAnswer {
    OriginAnswer(.chunks(count: max(0, chunks), size: max(1, size), every: interval))
  }

  /// A body of known length, one byte an interval.
  public static func trickle(count: Int, every interval: Duration) -> OriginAnswer {
    OriginAnswer(.trickle(count: max(0, count), every: interval))
  }

  /// So many zero bytes, compressed by gzip to about a thousandth.
  public static func gzipZeros(count: Int) -> OriginAnswer {
    var answer = OriginAnswer(.zeros(GzipZeros(count: max(0, count))))
    answer.headers = [OriginHeader("Content-Encoding", "gzip")]
    return answer
  }

  /// A body that declares a length, sends no more than that, and ends with the connection.
  public static func truncated(declared: Int, sent: Int) -> OriginAnswer {
    let sent = max(0, sent)
    return OriginAnswer(.partial(declared: max(declared, sent), sent: sent, ending: .cut))
  }

  /// Resets the connection without an answer.
  public static var reset: OriginAnswer {
    var answer = OriginAnswer(.bytes([]))
    answer.conduct = .reset
    return answer
  }

  /// Resets the connection after so many bytes of a longer body have been handed to the system.
  public static func reset(after count: Int) -> OriginAnswer {
    let count = min(max(0, count), .max / 2)
    return OriginAnswer(.partial(declared: 2 * count + 1024, sent: count, ending: .reset))
  }

  /// Keeps the request until ``Origin/release()``, and then answers with status 200.
  public static var hold: OriginAnswer {
    var answer = text("released\n")
    answer.conduct = .hold
    return answer
  }

  /// Never answers; the client has to give up.
  public static var silence: OriginAnswer {
    var answer = OriginAnswer(.bytes([]))
    answer.conduct = .silence
    return answer
  }

  /// The request's body, its method as `X-Method` and each of its header lines as `X-Echo-NAME`.
  public static var echo: OriginAnswer { OriginAnswer(.echo) }

  /// A head that breaks off: a status line and a field, then the end of the connection.
  public static var torn: OriginAnswer { OriginAnswer(.raw(Array("HTTP/1.1 200 OK\r\nServer: torn\r\n".utf8))) }

  /// A status line with two spaces, which lenient clients take for a status of 200.
  public static var spaced: OriginAnswer {
    OriginAnswer(.raw(Array("HTTP/1.1  200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".utf8)))
  }

  /// Bytes that are not HTTP, then the end of the connection.
  public static var garbage: OriginAnswer { OriginAnswer(.raw(Array("\u{1}not HTTP at all\u{0}\r\n\r\n".utf8))) }

  /// Status 413 before the request's body has been read, and then the end of the connection.
  public static var early: OriginAnswer { text("too large\n", status: 413).early() }

  /// This answer, sent before the request's body has been read to its end; then the connection ends.
  ///
  /// - Parameters:
  ///   - count: After how many bytes of the body; a shorter body is read to its end.
  ///   - staysOpen: Whether the connection stays, for a client that was asked to wait and sends no body now.
  ///   - isAbrupt: Whether the connection is closed at once, which resets it while the client still sends; else what the
  ///     client sends is read and passed over for a few seconds.
  public func early(
    after count: Int = 0, stayingOpen staysOpen: Bool = false, abruptly isAbrupt: Bool = false
  ) -> OriginAnswer {
    var answer = self
    answer.answersAfter = max(0, count)
    answer.isAbrupt = isAbrupt
    answer.staysOpen = staysOpen
    return answer
  }

  /// How many bytes the request's body has, in digits.
  ///
  /// - Parameter count: After how many of them reading stops until ``Origin/release()``; nil: it does not. Until then it
  ///   is not noticed either when the client goes away.
  public static func sink(pausingAfter count: Int? = nil) -> OriginAnswer {
    var answer = OriginAnswer(.bodyCount)
    answer.pausesAfter = count
    return answer
  }
}
