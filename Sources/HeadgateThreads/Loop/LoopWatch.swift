/// What a loop waits for on a descriptor.
public enum WatchDirection: Hashable, Sendable {
  /// There is something to read, or the other end has closed.
  case reading
  /// There is room to write, or the other end has closed.
  case writing
}

/// A file-descriptor source: the loop calls its handler while the descriptor is ready. CFFileDescriptor, or a
/// DispatchSource that reads or writes.
///
/// Made by ``ThreadLoop/watch(_:for:_:onCancel:)``. Level-triggered: the handler is called each turn until it has read
/// (or written) what made the descriptor ready, or has called ``suspend()``. Cancel it before the descriptor is closed;
/// `onCancel` is the place to close it.
public final class LoopWatch {
  /// What is watched.
  public let descriptor: Int32
  /// What for.
  public let direction: WatchDirection

  private let core: LoopCore
  let handler: LoopHandler
  private var isSuspended = false
  // Its handler runs a nested loop, which must not hear the same readiness again and again.
  private var isBusy = false
  var addedAfter: UInt64 = 0

  init(_ core: LoopCore, _ descriptor: Int32, _ direction: WatchDirection, _ handler: LoopHandler) {
    self.core = core
    self.descriptor = descriptor
    self.direction = direction
    self.handler = handler
  }

  var isWanted: Bool { !isSuspended && !isBusy }

  /// Stops calls until ``resume()``: the reader's side of back-pressure. From any thread; twice is once.
  public func suspend() { change { $0.isSuspended = true } }

  /// Undoes ``suspend()``.
  public func resume() { change { $0.isSuspended = false } }

  /// Ends the watch: no call of the handler starts any more, and `onCancel` is called on the loop, when no call of the
  /// handler runs. From any thread.
  ///
  /// False: it was ended before, by this or by the loop's stop.
  @discardableResult
  public func cancel() -> Bool {
    let (isMine, notice) = handler.end()
    guard isMine else { return false }
    core.state.withLock { state in
      if let poller = state.poller { state.watches.remove(self, from: poller) }
    }
    if let notice { core.acceptNotice(notice) }
    return true
  }

  /// Whether it was cancelled, or ended by the loop's stop.
  public var isCancelled: Bool { handler.isEnded }

  private func change(_ body: (LoopWatch) -> Void) {
    core.state.withLock { state in
      body(self)
      if let poller = state.poller { state.watches.update(self, in: poller) }
    }
  }

  /// Whether the handler was called.
  func performOnLoop() -> Bool {
    guard !handler.isRunning else {
      change { $0.isBusy = true }
      return false
    }
    let isCalled = handler.call(on: core)
    if core.state.withLock({ _ in isBusy }) { change { $0.isBusy = false } }
    return isCalled
  }
}

// Unchecked: `isSuspended`, `isBusy` and `addedAfter` are touched under the loop's lock; the rest is constant or
// locked.
extension LoopWatch: @unchecked Sendable {}

extension ThreadLoop {
  /// Has a handler called on the loop while a descriptor can be read or written. The loop keeps the watch until it is
  /// cancelled.
  ///
  /// One watch for reading and one for writing at most for each descriptor. Use non-blocking descriptors: a handler
  /// that blocks stops the loop. The first watch of a loop takes two descriptors (Apple: one) for the waiting itself.
  ///
  /// - Parameters:
  ///   - descriptor: A socket, a pipe, a terminal, an event: what epoll (Apple: kqueue) takes. Plain files are refused.
  ///   - direction: What to wait for.
  ///   - handler: Called on the loop. An error that it throws goes to the loop's `onError`, and the watch stays. It is
  ///     never called while a call of it runs, not even by a nested run inside it.
  ///   - onCancel: Called once when the watch ends, on the loop or by whoever finishes the stopped loop: the place to
  ///     close the descriptor.
  /// - Throws: ``LoopError``: `stopped`, `alreadyWatched`, `notWatchable` with the system's error number.
  public func watch(
    _ descriptor: Int32, for direction: WatchDirection, _ handler: sending @escaping () throws -> Void,
    onCancel: sending (() -> Void)? = nil
  ) throws(LoopError) -> LoopWatch {
    let closures = LoopHandler(LoopClosure(body: handler), onCancel: onCancel.map { LoopClosure(body: $0) })
    let watch = LoopWatch(core, descriptor, direction, closures)
    let poller = try core.somePoller()
    let (failure, sleep) = core.state.withLock { state -> ((code: LoopError.Code, errno: Int32)?, LoopCore.Sleep) in
      guard state.phase == .open else { return ((.stopped, 0), .awake) }
      if let failure = state.watches.add(watch, to: poller, after: state.wait) { return (failure, .awake) }
      // The first watch: the loop sleeps on its parker, where it would not hear the descriptor.
      return (nil, state.sleep == .parked ? state.wake() : .awake)
    }
    core.wake(from: sleep)
    if let failure { throw LoopError(failure.code, loop: name, errno: failure.errno) }
    return watch
  }
}

extension LoopCore {
  /// The loop's poller, made when the first descriptor comes.
  fileprivate func somePoller() throws(LoopError) -> Poller {
    if let poller = state.withLock({ $0.poller }) { return poller }
    let made: Poller
    do { made = try Poller() } catch { throw LoopError(.notWatchable, loop: name, errno: error.errno) }
    let (poller, isMine) = state.withLock { state -> (Poller, Bool) in
      if let poller = state.poller { return (poller, false) }
      // A stopped loop has let go of its own; the caller will see that it stopped.
      guard state.phase == .open else { return (made, false) }
      state.poller = made
      return (made, true)
    }
    // From now on a cancelled thread can't be woken through its parker alone.
    if isMine, !ownsThread { record?.onCancel { [weak self] in self?.nudge() } }
    return poller
  }
}
