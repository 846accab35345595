/// How many requests an end-point tolerates at once: in all, and how many of them may be long. And its share of the total.
public struct EndPointLimits: Hashable, Sendable {
  /// Requests under way at once, short and long together. At least 1.
  public let requests: Int

  /// Long requests among them. At least 1, and below `requests` unless that is 1 or it was asked for by name.
  public let long: Int

  /// How many requests it starts in a row when its turn comes, while the total over all end-points is what everybody
  /// waits for: twice the weight, twice the share. 1 to 1,000; 1 unless given.
  public let weight: Int

  /// Six, of which three may be long: what browsers allow themselves with HTTP/1.1.
  public static let standard = EndPointLimits(unchecked: 6, 3, 1)

  /// Four, of which two may be long: what the classic dispatcher allowed on a phone.
  public static let classic = EndPointLimits(unchecked: 4, 2, 1)

  /// A limit for an end-point.
  ///
  /// - Parameters:
  ///   - requests: Requests at once, 1 or more.
  ///   - long: Long ones among them, 1 or more, fewer than `requests` (or 1 when that is 1). Half of `requests` unless
  ///     given.
  ///   - weight: Its share of the total, beside those of other end-points.
  /// - Throws: ``LimitError`` for a number that is out of range: nothing is clamped in silence, and 0 never means "no
  ///   limit".
  public init(requests: Int, long: Int? = nil, weight: Int = 1) throws(LimitError) {
    guard requests >= 1 else { throw LimitError("an end-point's limit must be at least 1, not \(requests)") }
    let share = long ?? max(1, requests / 2)
    guard share >= 1 else { throw LimitError("the long lane's limit must be at least 1, not \(share)") }
    guard share < requests || requests == 1 && share == 1 else {
      throw LimitError(
        "the long lane's limit (\(share)) must be below the end-point's (\(requests)), or long requests could shut "
          + "out short ones; use EndPointLimits.allLong(requests:) where that is meant")
    }
    self.init(unchecked: requests, share, try Self.checked(weight))
  }

  /// A limit whose every permit may be used by a long request: short ones then may have to wait for a stream's end.
  ///
  /// - Throws: ``LimitError`` when `requests` is below 1 or `weight` out of range.
  public static func allLong(requests: Int, weight: Int = 1) throws(LimitError) -> EndPointLimits {
    guard requests >= 1 else { throw LimitError("an end-point's limit must be at least 1, not \(requests)") }
    return EndPointLimits(unchecked: requests, requests, try checked(weight))
  }

  private static func checked(_ weight: Int) throws(LimitError) -> Int {
    guard (1...1000).contains(weight) else { throw LimitError("a weight must be between 1 and 1,000, not \(weight)") }
    return weight
  }

  private init(unchecked requests: Int, _ long: Int, _ weight: Int) {
    self.requests = requests
    self.long = long
    self.weight = weight
  }
}

/// A limit that can't be.
public struct LimitError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong with it, and what to give instead.
  public let description: String

  init(_ description: String) { self.description = description }
}
