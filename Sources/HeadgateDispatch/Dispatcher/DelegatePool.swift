import HeadgateThreads

/// The threads of one dispatcher on which its delegates are called.
final class DelegatePool: Sendable {
  /// How many delegates can be inside a call at once. A pool starts a thread only when all others are busy.
  static let size = 8

  // Never nil: name and size are good.
  private let pool = try? ThreadPool(name: "headgate-delegates", size: DelegatePool.size)

  func run(_ call: @escaping @Sendable () -> Void) {
    do {
      guard let pool else { return call() }
      try pool.execute { call() }
    } catch {
      // The system has no thread to give, and the pool has none. The caller is the thread then: late is better than never.
      call()
    }
  }
}
