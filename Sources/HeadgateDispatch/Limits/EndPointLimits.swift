/// How many requests an end-point tolerates at once: in all, and how many of them may be long.
public struct EndPointLimits: Hashable, Sendable {
  /// Requests under way at once, short and long together. At least 1.
  public let requests: Int

  /// Long requests among them. At least 1, and below `requests` unless that is 1 or it was asked for by name.
  public let long: Int

  /// Six, of which three may be long: what browsers allow themselves with HTTP/1.1.
  public static let standard = EndPointLimits(unchecked: 6, 3)

  /// Four, of which two may be long: what the classic dispatcher allowed on a phone.
  public static let classic = EndPointLimits(unchecked: 4, 2)

  /// A limit for an end-point.
  ///
  /// - Parameters:
  ///   - requests: Requests at once, 1 or more.
  ///   - long: Long ones among them, 1 or more, fewer than `requests` (or 1 when that is 1). Half of `requests` unless
  ///     given.
  /// - Throws: ``LimitError`` for a number that is out of range: nothing is clamped in silence, and 0 never means "no
  ///   limit".
  public init(requests: Int, long: Int? = nil) throws(LimitError) {
    guard requests >= 1 else { throw LimitError("an end-point's limit must be at least 1, not \(requests)") }
    let share = long ?? max(1, requests / 2)
    guard share >= 1 else { throw LimitError("the long lane's limit must be at least 1, not \(share)") }
    guard share < requests || requests == 1 && share == 1 else {
      throw LimitError(
        "the long lane's limit (\(share)) must be below the end-point's (\(requests)), or long requests could shut "
          + "out short ones; use EndPointLimits.allLong(requests:) where that is meant")
    }
    self.init(unchecked: requests, share)
  }

  /// A limit whose every permit may be used by a long request: short ones then may have to wait for a stream's end.
  ///
  /// - Throws: ``LimitError`` when `requests` is below 1.
  public static func allLong(requests: Int) throws(LimitError) -> EndPointLimits {
    guard requests >= 1 else { throw LimitError("an end-point's limit must be at least 1, not \(requests)") }
    return EndPointLimits(unchecked: requests, requests)
  }

  private init(unchecked requests: Int, _ long: Int) {
    self.requests = requests
    self.long = long
  }
}

/// A limit that can't be.
public struct LimitError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong with it, and what to give instead.
  public let description: String

  init(_ description: String) { self.description = description }
}
