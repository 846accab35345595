/// What a loop waits for on a descriptor.
public enum WatchDirection: Hashable, Sendable {
  /// There is data to read, or the other end has closed.
  case reading
  /// There is space to write, or the other end has closed.
  case writing
}

/// A file-descriptor source: the loop calls its handler while the descriptor is ready. Like CFFileDescriptor, or a
/// DispatchSource for reading or writing.
///
/// Created by ``ThreadLoop/watch(_:for:_:onCancel:)``. It is level-triggered: the handler is called in each iteration
/// of the loop, until it has read or written enough that the descriptor is no longer ready, or has called
/// ``suspend()``. Cancel the watch before the descriptor is closed; `onCancel` is the place to close it.
public final class LoopWatch {
  /// The watched descriptor.
  public let descriptor: Int32
  /// The watched direction.
  public let direction: WatchDirection

  private let core: LoopCore
  let handler: LoopHandler
  private var isSuspended = false
  // The handler is running a nested loop, which must not report the same readiness again and again.
  private var isBusy = false
  var addedAfter: UInt64 = 0

  init(_ core: LoopCore, _ descriptor: Int32, _ direction: WatchDirection, _ handler: LoopHandler) {
    self.core = core
    self.descriptor = descriptor
    self.direction = direction
    self.handler = handler
  }

  var isWanted: Bool { !isSuspended && !isBusy }

  /// Stops calls until ``resume()``, for back-pressure on the reader's side. Can be called from any thread. Idempotent.
  public func suspend() { change { $0.isSuspended = true } }

  /// Undoes ``suspend()``.
  public func resume() { change { $0.isSuspended = false } }

  /// Ends the watch: no further call of the handler starts, and `onCancel` is called on the loop when the handler is
  /// not running. Can be called from any thread.
  ///
  /// Returns false if the watch had already ended, through an earlier call or because the loop stopped.
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

  /// Whether the watch was cancelled, or ended by the loop's stop.
  public var isCancelled: Bool { handler.isEnded }

  private func change(_ body: (LoopWatch) -> Void) {
    core.state.withLock { state in
      body(self)
      if let poller = state.poller { state.watches.update(self, in: poller) }
    }
  }

  /// Returns whether the handler was called.
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

// Unchecked: `isSuspended`, `isBusy` and `addedAfter` are accessed under the loop's lock; the rest is constant or
// locked.
extension LoopWatch: @unchecked Sendable {}

extension ThreadLoop {
  /// Calls a handler on the loop while a descriptor is ready for reading or writing. The loop retains the watch until
  /// it is cancelled.
  ///
  /// A descriptor can have at most one watch for reading and one for writing. Use non-blocking descriptors: a handler
  /// that blocks stops the loop. The first watch of a loop uses two descriptors (Apple: one) for the poller itself.
  ///
  /// - Parameters:
  ///   - descriptor: A socket, pipe, terminal or event descriptor, or any other that epoll (Apple: kqueue) accepts.
  ///     Plain files are refused.
  ///   - direction: What to wait for.
  ///   - handler: Called on the loop. Its error goes to the loop's `onError`, and the watch stays. Calls are never
  ///     nested, not even by a nested run inside the handler.
  ///   - onCancel: Called once when the watch ends, on the loop or by the thread that finishes the stopped loop. The
  ///     place to close the descriptor.
  /// - Throws: ``LoopError``: `stopped`, `alreadyWatched`, `notWatchable` with the system's error number.
  public func watch(
    _ descriptor: Int32, for direction: WatchDirection, _ handler: sending @escaping () throws -> Void,
    onCancel: sending (() -> Void)? = nil
  ) throws(LoopError) -> LoopWatch {
    let closures = LoopHandler(Closure(handler), onCancel: onCancel.map { Closure($0) })
    let watch = LoopWatch(core, descriptor, direction, closures)
    let poller = try core.somePoller()
    let failure = core.update { state -> ((code: LoopError.Code, errno: Int32)?, LoopCore.Sleep) in
      guard state.phase == .open else { return ((.stopped, 0), .awake) }
      if let failure = state.watches.add(watch, to: poller, after: state.wait) { return (failure, .awake) }
      // The first watch. The loop may be sleeping on its parker, where descriptors do not wake it.
      return (nil, state.sleep == .parked ? state.wake() : .awake)
    }
    if let failure { throw LoopError(failure.code, loop: name, errno: failure.errno) }
    return watch
  }
}

extension LoopCore {
  /// The loop's poller, created for the first descriptor.
  fileprivate func somePoller() throws(LoopError) -> Poller {
    if let poller = state.withLock({ $0.poller }) { return poller }
    let made: Poller
    do { made = try Poller() } catch { throw LoopError(.notWatchable, loop: name, errno: error.errno) }
    // As soon as there is a poller, the thread may sleep on it, so cancelling the thread must wake the poller too.
    if !ownsThread { record?.onCancel { [weak self] in self?.nudge() } }
    return state.withLock { state in
      if let poller = state.poller { return poller }
      // A stopped loop has released its poller. The caller will see that the loop has stopped.
      if state.phase == .open { state.poller = made }
      return made
    }
  }
}

/// The watches by descriptor: at most one reader and one writer, under one registration with the poller.
///
/// A value under the loop's lock. The registrations are changed under that lock too, so that two threads cannot leave
/// an outdated registration behind.
struct LoopWatchTable: Sendable {
  private struct Place {
    var reader: LoopWatch?
    var writer: LoopWatch?
    var registered: PollInterest = []

    var wanted: PollInterest {
      var wanted: PollInterest = []
      if reader?.isWanted == true { wanted.insert(.read) }
      if writer?.isWanted == true { wanted.insert(.write) }
      return wanted
    }
  }

  private var places: [Int32: Place] = [:]

  var isEmpty: Bool { places.isEmpty }
  var count: Int { places.count }
  var all: [LoopWatch] { places.values.flatMap { [$0.reader, $0.writer].compactMap(\.self) } }

  /// Adds a watch. Returns an error if this direction is already watched or the system refuses.
  mutating func add(_ watch: LoopWatch, to poller: Poller, after wait: UInt64) -> (code: LoopError.Code, errno: Int32)?
  {
    var place = places[watch.descriptor] ?? Place()
    switch watch.direction {
    case .reading where place.reader == nil: place.reader = watch
    case .writing where place.writer == nil: place.writer = watch
    default: return (.alreadyWatched, 0)
    }
    let failure = register(&place, watch.descriptor, poller)
    guard failure == 0 else { return (.notWatchable, failure) }
    watch.addedAfter = wait
    places[watch.descriptor] = place
    return nil
  }

  /// Removes a watch. Has no effect if it is not in the table.
  mutating func remove(_ watch: LoopWatch, from poller: Poller) {
    guard var place = places[watch.descriptor] else { return }
    if place.reader === watch { place.reader = nil }
    if place.writer === watch { place.writer = nil }
    _ = register(&place, watch.descriptor, poller)
    places[watch.descriptor] = place.reader == nil && place.writer == nil ? nil : place
  }

  /// Updates the registration after a watch was suspended or resumed, or became busy.
  mutating func update(_ watch: LoopWatch, in poller: Poller) {
    guard var place = places[watch.descriptor], place.reader === watch || place.writer === watch else { return }
    _ = register(&place, watch.descriptor, poller)
    places[watch.descriptor] = place
  }

  mutating func removeAll(from poller: Poller) {
    for (descriptor, place) in places where !place.registered.isEmpty { poller.remove(descriptor) }
    places = [:]
  }

  /// The watches that an event concerns. Watches added after the poll began are excluded: the event may concern an
  /// earlier file with the same number, and a real event for the new one will be reported again.
  func watchers(of event: PollEvent, before wait: UInt64) -> (reader: LoopWatch?, writer: LoopWatch?) {
    guard let place = places[event.descriptor] else { return (nil, nil) }
    func chosen(_ watch: LoopWatch?, _ isReady: Bool) -> LoopWatch? {
      guard let watch, isReady || event.closed, watch.isWanted, watch.addedAfter < wait else { return nil }
      return watch
    }
    return (chosen(place.reader, event.readable), chosen(place.writer, event.writable))
  }

  private func register(_ place: inout Place, _ descriptor: Int32, _ poller: Poller) -> Int32 {
    let wanted = place.wanted
    defer { place.registered = wanted }
    if wanted == place.registered { return 0 }
    // An empty interest means no registration: otherwise a hang-up would be reported again and again.
    if wanted.isEmpty { return poller.remove(descriptor) }
    return place.registered.isEmpty ? poller.add(descriptor, wanted) : poller.modify(descriptor, wanted)
  }
}
