import Synchronization

/// An input source of a program's own: any thread signals it, and the loop calls its handler. CFRunLoopSource, version
/// 0.
///
/// Made by ``ThreadLoop/addSource(_:onCancel:)``. Signals are coalesced: any number of them before the handler starts
/// are one call, which sees all that was written before the last of them; a signal while it runs is one more call. A
/// signal wakes a loop that sleeps, without a `CFRunLoopWakeUp` beside it, and costs one atomic operation while an
/// earlier one has not been handled.
public final class LoopSource {
  private let core: LoopCore
  let handler: LoopHandler
  private let isSignalled = AtomicCell<Bool>(false)
  // Signalled while its handler ran a nested loop.
  private var hasMissed = false

  init(_ core: LoopCore, _ handler: LoopHandler) {
    self.core = core
    self.handler = handler
  }

  /// Has the handler called, on the loop, soon. From any thread, also from the handler.
  ///
  /// False: the source was cancelled, or its loop has stopped.
  @discardableResult
  public func signal() -> Bool {
    // Read and written in one step on both sides, so that the handler sees what was written before a signal that found
    // another one waiting.
    if isSignalled.exchange(true, ordering: .acquiringAndReleasing) { return !handler.isEnded }
    guard !handler.isEnded else { return false }
    return core.acceptSignal(of: self)
  }

  /// Ends the source: no call of the handler starts any more, and `onCancel` is called on the loop. From any thread.
  ///
  /// False: it was ended before, by this or by the loop's stop. A call that is running goes on to its end.
  @discardableResult
  public func cancel() -> Bool {
    let (isMine, notice) = handler.end()
    guard isMine else { return false }
    core.state.withLock { $0.sources[ObjectIdentifier(self)] = nil }
    if let notice { core.acceptNotice(notice) }
    return true
  }

  /// Whether it was cancelled, or ended by the loop's stop.
  public var isCancelled: Bool { handler.isEnded }

  func performOnLoop() {
    _ = isSignalled.exchange(false, ordering: .acquiringAndReleasing)
    guard !handler.isRunning else {
      hasMissed = true
      return
    }
    _ = handler.call(on: core)
    if hasMissed {
      hasMissed = false
      signal()
    }
  }
}

// Unchecked: `hasMissed` belongs to the loop's thread; the rest is constant, locked or atomic.
extension LoopSource: @unchecked Sendable {}

extension LoopCore {
  func acceptSignal(of source: LoopSource) -> Bool {
    let (isAccepted, sleep) = state.withLock { state -> (Bool, Sleep) in
      guard state.phase == .open else { return (false, .awake) }
      state.signalled.append(source)
      hasNews.store(true, ordering: .relaxed)
      return (true, state.wake())
    }
    wake(from: sleep)
    return isAccepted
  }
}

extension ThreadLoop {
  /// Adds an input source, which the loop keeps until it is cancelled.
  ///
  /// - Parameters:
  ///   - handler: Called on the loop after a signal. An error that it throws goes to the loop's `onError`, and the
  ///     source stays. It is never called while a call of it runs, not even by a nested run inside it.
  ///   - onCancel: Called once when the source ends: on the loop after a `cancel`, or by whoever finishes the stopped
  ///     loop.
  /// - Throws: ``LoopError``, `stopped`.
  public func addSource(
    _ handler: sending @escaping () throws -> Void, onCancel: sending (() -> Void)? = nil
  ) throws(LoopError) -> LoopSource {
    let closures = LoopHandler(LoopClosure(body: handler), onCancel: onCancel.map { LoopClosure(body: $0) })
    let source = LoopSource(core, closures)
    let isAdded = core.state.withLock { state in
      guard state.phase == .open else { return false }
      state.sources[ObjectIdentifier(source)] = source
      return true
    }
    guard isAdded else { throw LoopError(.stopped, loop: name) }
    return source
  }
}
