/// A unit of delivery. Exactly one of its two closures is called, once, even if its carrier drops it.
package final class Parcel: LoopEntry {
  private struct Content: Sendable {
    let deliver: @Sendable () -> Void
    let comeBack: @Sendable ((any Error)?) -> Void
  }

  private let content: Locked<Content?>

  /// - Parameters:
  ///   - deliver: Called at the place of delivery.
  ///   - comeBack: Called instead, with the place's error if there is one, on the thread that detects the failure. For
  ///     a dropped parcel that can be any thread.
  package init(_ deliver: @escaping @Sendable () -> Void, comeBack: @escaping @Sendable ((any Error)?) -> Void) {
    content = Locked(Content(deliver: deliver, comeBack: comeBack))
  }

  deinit { comeBack() }

  private func take() -> Content? { content.withLock { $0.take() } }

  func open() { take()?.deliver() }

  func comeBack(for error: (any Error)? = nil) { take()?.comeBack(error) }

  // MARK: In a loop's inbox

  func perform(on core: LoopCore) { open() }

  func drop() { comeBack() }
}
