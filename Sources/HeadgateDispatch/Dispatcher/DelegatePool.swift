import HeadgateThreads

/// The threads on which a dispatcher calls its delegates.
final class DelegatePool: Sendable {
  /// The maximum number of delegates called at the same time. The pool starts a thread only when all others are busy.
  static let size = 8

  // Never nil: name and size are valid constants.
  private let pool = try? ThreadPool(name: "headgate-delegates", size: DelegatePool.size)

  func run(_ call: @escaping @Sendable () -> Void) {
    do {
      guard let pool else { return call() }
      try pool.execute { call() }
    } catch {
      // The system refused a thread and the pool has none, so the caller's thread runs the call.
      call()
    }
  }
}
