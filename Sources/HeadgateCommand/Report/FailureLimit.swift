import HeadgateThreads

/// Calls a function once when a number of URLs have failed.
final class FailureLimit: Sendable {
  /// Nil for no limit.
  let most: Int?
  private let action = Locked<(@Sendable () -> Void)?>(nil)

  init(_ most: Int?) { self.most = most }

  /// Sets the function. It is called at most once, on the thread that reports the last failure.
  func whenReached(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }

  /// Reports the number of failures so far.
  func check(_ failed: Int) {
    guard let most, failed >= most else { return }
    action.withLock { $0.take() }?()
  }
}
