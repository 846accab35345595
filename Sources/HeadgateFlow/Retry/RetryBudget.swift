import HeadgateThreads
import Synchronization

/// What keeps retries from multiplying the load on a service that is down: each first attempt brings a part of a token,
/// each retry takes a whole one, and without a token there is no retry.
///
/// One budget for all calls to one service. By default retries add 10 % to the load, beyond a few that are allowed
/// from the start. Any number of threads and tasks may use it at once; each call is one atomic operation.
public final class RetryBudget: Sendable {
  private static let token = 1_000_000

  private let share: Int
  private let most: Int
  // In millionths of a token.
  private let balance: AtomicCell<Int>

  /// A budget. Values out of range are taken for the nearest that are in it.
  ///
  /// - Parameters:
  ///   - ratio: How many retries each first attempt brings: 0.1 for one in ten; 0 to 1,000.
  ///   - reserve: How many retries there are at first; not negative.
  ///   - limit: The most that are saved up; at least `reserve`.
  public init(ratio: Double = 0.1, reserve: Int = 10, limit: Int = 100) {
    let bound = 1_000_000_000
    let reserve = min(max(reserve, 0), bound)
    share = Int((ratio >= 0 ? min(ratio, 1000) : 0) * Double(Self.token))
    most = min(max(limit, reserve), bound) * Self.token
    balance = AtomicCell(reserve * Self.token)
  }

  /// How many retries there are at this moment.
  public var available: Int { balance.load(ordering: .relaxed) / Self.token }

  /// A first attempt is made.
  public func deposit() {
    var old = balance.load(ordering: .relaxed)
    while true {
      let (done, found) = balance.compareExchange(expected: old, desired: min(old + share, most), ordering: .relaxed)
      if done { return }
      old = found
    }
  }

  /// Takes a retry. False: there is none.
  public func withdraw() -> Bool {
    var old = balance.load(ordering: .relaxed)
    while old >= Self.token {
      let (done, found) = balance.compareExchange(expected: old, desired: old - Self.token, ordering: .relaxed)
      if done { return true }
      old = found
    }
    return false
  }
}
