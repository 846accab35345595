/// The retries that each end-point still allows, as a value.
///
/// An end-point begins with a hundred tokens, and never has more. A retry takes one, and an answer returns one, so that
/// retries end only at an end-point that fails more often than it answers. A request whose first attempt fails returns a
/// tenth, so that one in ten still finds out whether an end-point that is down has recovered.
struct RetryLedger {
  private struct Debt {
    /// The tokens that are missing, in tenths.
    var tenths: Int
    /// The number of the last use.
    var lastUse: Int
  }

  // A token, in tenths.
  private static let token = 10
  // Enough for the failures among some hundred requests that start together, all of which may come before the first
  // answer.
  private static let most = 100 * token

  private let capacity: Int
  private var uses = 0
  // An end-point without a record has all its tokens.
  private var debts: [EndPoint: Debt] = [:]

  /// - Parameter capacity: The greatest number of records. Beyond it, the half that was not used for longest is
  ///   forgotten.
  init(capacity: Int = 4096) { self.capacity = capacity }

  /// The number of end-points that lack tokens.
  var count: Int { debts.count }

  /// The number of retries left at an end-point.
  func available(at endPoint: EndPoint) -> Int { (Self.most - (debts[endPoint]?.tenths ?? 0)) / Self.token }

  /// The end-point has answered. O(1).
  mutating func answered(_ endPoint: EndPoint) {
    guard let tenths = debts[endPoint]?.tenths else { return }
    note(tenths - Self.token, at: endPoint)
  }

  /// A request has failed there, and is to be sent again. Returns false if no retry is left. O(1) on average, O(n log n)
  /// in the records once in `capacity / 2` new ones.
  ///
  /// - Parameter isFirst: Whether its first attempt has failed.
  mutating func takeRetry(at endPoint: EndPoint, isFirst: Bool) -> Bool {
    let missing = max(0, (debts[endPoint]?.tenths ?? 0) - (isFirst ? 1 : 0))
    let isLeft = missing + Self.token <= Self.most
    note(isLeft ? missing + Self.token : missing, at: endPoint)
    return isLeft
  }

  private mutating func note(_ tenths: Int, at endPoint: EndPoint) {
    uses += 1
    debts[endPoint] = tenths > 0 ? Debt(tenths: tenths, lastUse: uses) : nil
    guard debts.count > capacity else { return }
    let latest = debts.values.map(\.lastUse).sorted().suffix(capacity / 2).first ?? uses
    debts = debts.filter { $0.value.lastUse >= latest }
  }
}
