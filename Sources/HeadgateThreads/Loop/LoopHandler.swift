/// The closures of a source: called on the loop any number of times, ended once.
// Unchecked: `isRunning` belongs to the loop's thread; the rest is locked.
final class LoopHandler: @unchecked Sendable {
  private struct Closures {
    var body: LoopClosure?
    var onCancel: LoopClosure?
  }

  private let closures: Locked<Closures>
  /// On the loop's thread: whether a call is going on, which only a nested run can see.
  private(set) var isRunning = false

  init(_ body: LoopClosure, onCancel: LoopClosure?) {
    closures = Locked(Closures(body: body, onCancel: onCancel))
  }

  var isEnded: Bool { closures.withLock { $0.body == nil } }

  /// On the loop. False: it was ended.
  func call(on core: LoopCore) -> Bool {
    guard let body = closures.withLock({ $0.body }) else { return false }
    isRunning = true
    core.call(body)
    isRunning = false
    return true
  }

  /// No call starts any more. Whether this ended it, and what has to be called then.
  func end() -> (isMine: Bool, notice: LoopNotice?) {
    // The closures leave the lock before they are let go.
    let old = closures.withLock { closures in
      defer { closures = Closures() }
      return closures
    }
    return (old.body != nil, old.onCancel.map { LoopNotice($0) })
  }
}
