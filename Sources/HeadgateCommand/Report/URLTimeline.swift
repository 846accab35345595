import HeadgateDispatch

/// When a URL was submitted and sent, in seconds from the start of the run, for its record in the log.
struct URLTimeline: Equatable, Sendable {
  /// An exchange, from sending the request until its response was complete or given up.
  struct Exchange: Equatable, Sendable {
    let endPoint: EndPoint
    let start: Double
    let end: Double
    let status: Int?
    /// The word for its error. Nil if the response was complete.
    var error: String?
    /// The end-point's limit of concurrent requests when it was sent.
    let limit: Int
  }

  /// The start or the extension of an end-point's pause.
  struct Pause: Equatable, Sendable {
    let endPoint: EndPoint
    let at: Double
    let until: Double
    let reason: String
  }

  /// The time of the submission. Nil if it was never submitted.
  var start: Double?
  var exchanges: [Exchange] = []
  /// The pauses of all end-points, not only of this URL's.
  var pauses: [Pause] = []

  func add(to line: inout JSONLine) {
    line.add("start", seconds: start)
    line.add("sent", seconds: exchanges.last?.start)
    line.add("ran", seconds: exchanges.last.map { $0.end - $0.start })
    line.add("limit", exchanges.last?.limit)
    // Most URLs are sent once, and the fields above describe that exchange.
    line.add("exchanges", exchanges.count > 1 ? exchanges.map(Self.object) : [])
    line.add("pauses", pauses.map(Self.object))
  }

  private static func object(_ exchange: Exchange) -> JSONLine {
    var line = JSONLine()
    line.add("end_point", exchange.endPoint.description)
    line.add("start", seconds: exchange.start)
    line.add("end", seconds: exchange.end)
    line.add("status", exchange.status)
    line.add("error", exchange.error)
    line.add("limit", exchange.limit)
    return line
  }

  private static func object(_ pause: Pause) -> JSONLine {
    var line = JSONLine()
    line.add("end_point", pause.endPoint.description)
    line.add("at", seconds: pause.at)
    line.add("until", seconds: pause.until)
    line.add("reason", pause.reason)
    return line
  }
}
