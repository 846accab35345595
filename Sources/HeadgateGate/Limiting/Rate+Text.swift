import HeadgateThreads

extension Rate {
  private static let units: [(words: [String], short: String, nanoseconds: Int64)] = [
    (["s", "sec", "second"], "s", 1_000_000_000),
    (["min", "m", "minute"], "min", 60_000_000_000),
    (["h", "hour"], "h", 3600_000_000_000),
    (["d", "day"], "d", 86_400_000_000_000),
  ]

  /// Parses a rate: `10/s`, `100/min`, `5000/h`, `20000/d`.
  ///
  /// A rate per second is spaced evenly. A rate for a longer period is rolling: all of it may be used at once, and
  /// starts become available again as earlier ones leave the window.
  ///
  /// - Throws: ``LimitError`` if the text is not a rate, or if a number is out of range.
  public init(_ text: String) throws(LimitError) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.allSatisfy({ (48...57).contains($0) }),
      let unit = Self.units.first(where: { $0.words.contains(String(parts[1])) })
    else {
      throw LimitError("\"\(text.prefix(100))\" is not a rate; write 10/s, 100/min, 5000/h or 20000/d")
    }
    guard let count = Int(parts[0]) else { throw LimitError("\"\(text.prefix(100))\" is too high for a rate") }
    let period = Duration.nanoseconds(unit.nanoseconds)
    try self.init(unit.short == "s" ? .spaced : .rolling, count, period, .zero)
  }

  /// The rate in the form of ``init(_:)`` if possible, otherwise with its period in seconds: `3/2.5 s`.
  public var description: String {
    let unit = Self.units.first { $0.nanoseconds == periodNanoseconds }
    return "\(count)/" + (unit.map(\.short) ?? "\(period.inSeconds) s")
  }
}
