/// The closures of a source: called on the loop any number of times, and ended once.
// Unchecked: `isRunning` belongs to the loop's thread; the rest is locked.
final class LoopHandler: @unchecked Sendable {
  private struct Closures {
    var body: Closure?
    var onCancel: Closure?
  }

  private let closures: Locked<Closures>
  /// Whether a call is in progress. On the loop's thread; only a nested run can see true.
  private(set) var isRunning = false
  // An `onCancel` that waits for the end of the call in progress. On the loop's thread too.
  private var ending: Closure?

  init(_ body: Closure, onCancel: Closure?) {
    closures = Locked(Closures(body: body, onCancel: onCancel))
  }

  var isEnded: Bool { closures.withLock { $0.body == nil } }

  /// Calls the handler, on the loop. Returns false if it was ended.
  func call(on core: LoopCore) -> Bool {
    guard let body = closures.withLock({ $0.body }) else { return false }
    isRunning = true
    core.call(body)
    isRunning = false
    if let ending = ending.take() { core.call(ending) }
    return true
  }

  /// Ends the handler: no further call starts. Returns whether this call ended it, and the notice to perform then.
  func end() -> (isMine: Bool, notice: LoopNotice?) {
    // Removed under the lock, released after it.
    var old = Closures()
    closures.withLock { swap(&$0, &old) }
    let notice = old.onCancel.map { onCancel in
      LoopNotice(Closure { [self] in if isRunning { ending = onCancel } else { try onCancel() } })
    }
    return (old.body != nil, notice)
  }
}
