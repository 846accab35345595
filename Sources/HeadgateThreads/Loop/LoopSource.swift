import Synchronization

/// A custom input source: any thread signals it, and the loop calls its handler. Like CFRunLoopSource, version 0.
///
/// Created by ``ThreadLoop/addSource(_:onCancel:)``. Signals are coalesced: several signals before the handler starts
/// cause one call, which sees everything written before the last of them. A signal while the handler runs causes one
/// more call. A signal wakes a sleeping loop, without a separate `CFRunLoopWakeUp`. While an earlier signal is pending
/// it costs an atomic operation and two short locks.
public final class LoopSource {
  private let core: LoopCore
  let handler: LoopHandler
  private let isSignalled = AtomicCell<Bool>(false)
  // Signalled while its handler was running a nested loop.
  private var hasMissed = false

  init(_ core: LoopCore, _ handler: LoopHandler) {
    self.core = core
    self.handler = handler
  }

  /// Makes the loop call the handler, in order with the closures of `perform`. Can be called from any thread, including
  /// the handler.
  ///
  /// Returns false if the source was cancelled, or if its loop has stopped or is ending because the last reference to it
  /// was released. At the moment of that release, a signal may return true that is no longer handled.
  @discardableResult
  public func signal() -> Bool {
    // An atomic exchange on both sides, so that the handler sees everything written before a signal that was coalesced
    // with an earlier one.
    if isSignalled.exchange(true, ordering: .acquiringAndReleasing) {
      // An earlier signal that a loop refuses because it ends is not performed, so this one must not rely on it.
      return !handler.isEnded && core.state.withLock { $0.phase == .open && !$0.drainsFirst }
    }
    if !handler.isEnded, core.accept(.source(self)) { return true }
    // It was not accepted, so the next signal must not rely on it.
    _ = isSignalled.exchange(false, ordering: .acquiringAndReleasing)
    return false
  }

  /// Ends the source: no further call of the handler starts, and `onCancel` is called on the loop. Can be called from
  /// any thread.
  ///
  /// Returns false if the source had already ended, through an earlier call or because the loop stopped. A running call
  /// of the handler completes.
  @discardableResult
  public func cancel() -> Bool {
    let (isMine, notice) = handler.end()
    guard isMine else { return false }
    core.state.withLock { $0.sources[ObjectIdentifier(self)] = nil }
    if let notice { core.acceptNotice(notice) }
    return true
  }

  /// Whether the source was cancelled, or ended by the loop's stop.
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

extension ThreadLoop {
  /// Adds an input source, which the loop retains until the source is cancelled.
  ///
  /// - Parameters:
  ///   - handler: Called on the loop after a signal. Its error goes to the loop's `onError`, and the source stays.
  ///     Calls are never nested, not even by a nested run inside the handler.
  ///   - onCancel: Called once when the source ends: on the loop after a `cancel`, or by the thread that finishes the
  ///     stopped loop.
  /// - Throws: ``LoopError``, `stopped`.
  public func addSource(
    _ handler: sending @escaping () throws -> Void, onCancel: sending (() -> Void)? = nil
  ) throws(LoopError) -> LoopSource {
    let closures = LoopHandler(Closure(handler), onCancel: onCancel.map { Closure($0) })
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
