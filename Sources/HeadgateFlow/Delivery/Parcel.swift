import HeadgateThreads

/// What is to be delivered: it is opened once, or comes back once, also when whoever carries it lets go of it.
package final class Parcel: Sendable {
  private struct Content: Sendable {
    let deliver: @Sendable () -> Void
    let comeBack: @Sendable ((any Error)?) -> Void
  }

  private let content: Locked<Content?>

  package init(_ deliver: @escaping @Sendable () -> Void, comeBack: @escaping @Sendable ((any Error)?) -> Void) {
    content = Locked(Content(deliver: deliver, comeBack: comeBack))
  }

  deinit { comeBack() }

  private func take() -> Content? { content.withLock { $0.take() } }

  func open() { take()?.deliver() }

  func comeBack(for error: (any Error)? = nil) { take()?.comeBack(error) }
}
