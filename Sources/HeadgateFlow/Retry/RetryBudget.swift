import HeadgateThreads
import Synchronization

/// Keeps retries from multiplying the load on a service that is down. Each first attempt deposits a fraction of a
/// token, each retry takes a whole one, and without a token there is no retry.
///
/// Share one budget among all calls to a service. By default retries add at most 10 % to the load, apart from a small
/// initial reserve. Any number of threads and tasks may use it concurrently; each call is lock-free.
public final class RetryBudget: Sendable {
  private static let token = 1_000_000

  private let share: Int
  private let most: Int
  // In millionths of a token.
  private let balance: AtomicCell<Int>

  /// Creates a budget. Values out of range are clamped.
  ///
  /// - Parameters:
  ///   - ratio: The retries that each first attempt allows: 0.1 for one in ten; 0 to 1,000.
  ///   - reserve: The initial number of retries; not negative.
  ///   - limit: The maximum number of retries saved up; at least `reserve`.
  public init(ratio: Double = 0.1, reserve: Int = 10, limit: Int = 100) {
    let bound = 1_000_000_000
    let reserve = min(max(reserve, 0), bound)
    share = Int((ratio >= 0 ? min(ratio, 1000) : 0) * Double(Self.token))
    most = min(max(limit, reserve), bound) * Self.token
    balance = AtomicCell(reserve * Self.token)
  }

  /// The number of retries currently available.
  public var available: Int { balance.load(ordering: .relaxed) / Self.token }

  /// Records a first attempt.
  public func deposit() { _ = change { min($0 + share, most) } }

  /// Takes a retry. Returns false if none is available.
  public func withdraw() -> Bool { change { $0 >= Self.token ? $0 - Self.token : nil } }

  /// Changes the balance. Returns false if `new` returns nil for it.
  private func change(_ new: (Int) -> Int?) -> Bool {
    var old = balance.load(ordering: .relaxed)
    while let new = new(old) {
      let (done, found) = balance.compareExchange(expected: old, desired: new, ordering: .relaxed)
      if done { return true }
      old = found
    }
    return false
  }
}
