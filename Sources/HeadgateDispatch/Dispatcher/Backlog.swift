/// What waits for a slow consumer, in bytes or in blocks. The transport pauses at the high mark and resumes at the low
/// one.
struct Backlog {
  /// The marks of a consumer in memory, in bytes.
  static let bytes = Backlog(high: 256 * 1024, low: 64 * 1024)

  /// What a piece in memory counts as: its bytes, and about as much as its array and its place in a queue take. A server
  /// decides how long the pieces are, and a byte may be one.
  ///
  /// Rejected: to append to the last piece. That copies the bytes once more, and then the consumer's pace would decide
  /// how long its pieces are.
  static func size(ofPiece bytes: Int) -> Int { bytes + 64 }

  let high: Int
  let low: Int
  private(set) var amount = 0
  private(set) var isStopped = false

  /// Returns whether the transport continues or pauses.
  mutating func add(_ more: Int) -> BodyFlow {
    amount += more
    if amount >= high { isStopped = true }
    return isStopped ? .pause : .more
  }

  /// Returns whether the transport must be resumed.
  mutating func remove(_ count: Int) -> Bool {
    amount -= count
    guard isStopped, amount <= low else { return false }
    isStopped = false
    return true
  }
}
