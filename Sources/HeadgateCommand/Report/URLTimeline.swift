import HeadgateDispatch

/// When a URL was submitted and sent, in seconds from the beginning of the run, for its record in the log.
struct URLTimeline: Equatable, Sendable {
  /// One time that it was sent, until its response was whole or given up.
  struct Exchange: Equatable, Sendable {
    let endPoint: EndPoint
    let start: Double
    let end: Double
    let status: Int?
    /// How many requests at once the end-point's limit allowed when it was sent.
    let limit: Int
  }

  /// An end-point that begins to pause, or pauses for longer.
  struct Pause: Equatable, Sendable {
    let endPoint: EndPoint
    let at: Double
    let until: Double
    let reason: String
  }

  /// Nil where it was never submitted.
  var start: Double?
  var exchanges: [Exchange] = []
  /// Pauses of all end-points, not only of this URL's.
  var pauses: [Pause] = []

  func add(to line: inout JSONLine) {
    line.add("start", seconds: start)
    line.add("sent", seconds: exchanges.last?.start)
    line.add("ran", seconds: exchanges.last.map { $0.end - $0.start })
    line.add("limit", exchanges.last?.limit)
    // Most URLs are sent once, and all of that is told above.
    line.add("exchanges", exchanges.count > 1 ? exchanges.map(Self.object) : [])
    line.add("pauses", pauses.map(Self.object))
  }

  private static func object(_ exchange: Exchange) -> JSONLine {
    var line = JSONLine()
    line.add("end_point", exchange.endPoint.description)
    line.add("start", seconds: exchange.start)
    line.add("end", seconds: exchange.end)
    line.add("status", exchange.status)
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
