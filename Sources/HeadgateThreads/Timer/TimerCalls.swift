// The `perform` family of timer calls over any clock: the states of a call, and its ownership.

/// All calls of the `perform` family that have not ended, and the one lock that guards their states.
///
/// A call goes from pending to running, on the timer thread or at its place of delivery; a repeating call returns to
/// pending. Each step is decided under the lock, for one arming (`round`) of the timer. After a cancellation or
/// rescheduling, a call that was passed on earlier finds a different phase or round and does nothing.
package final class TimerCalls: Sendable {
  private let name: String
  private let limit: Int
  private let onError: (@Sendable (any Error, TimerHandle) -> Void)?
  private let registry = Locked(TimerRegistry())

  package init(name: String, limit: Int?, onError: (@Sendable (any Error, TimerHandle) -> Void)?) {
    self.name = name
    self.limit = limit ?? .max
    self.onError = onError
  }

  /// The number of calls that have not ended.
  package var count: Int { registry.withLock { $0.count } }

  func read<Value: Sendable>(_ handle: TimerHandle, _ body: (TimerHandle.State) -> Value) -> Value {
    registry.withLock { _ in body(handle.state) }
  }

  // MARK: Scheduling

  package func start(
    on service: any TimerService, at deadline: Deadline, place: Delivery = .inline, repetition: TimerRepetition? = nil,
    owner: AnyObject? = nil, key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onDrop: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    if let repetition, repetition.nanoseconds <= 0 { throw TimerError(.invalidInterval, timers: name) }
    let handle = TimerHandle(
      calls: self, service: service, place: place, repetition: repetition,
      ownership: owner.map { TimerOwnership($0, key: key) },
      state: TimerHandle.State(deadline: deadline, body: Closure(body), onDrop: onDrop))
    let refusal = registry.withLock { registry -> TimerError.Code? in
      if registry.isDisposed { return .disposed }
      if registry.count >= limit { return .full }
      registry.add(handle)
      return nil
    }
    if let refusal { throw TimerError(refusal, timers: name) }
    arm(handle, Arming(round: 0, deadline: deadline))
    return handle
  }

  /// Sets the timer for one arming. The call may become due or be cancelled before the timer is stored in the state.
  private func arm(_ handle: TimerHandle, _ arming: Arming) {
    let round = arming.round
    let timer = handle.service.schedule(at: arming.deadline) { handle.calls.due(handle, round) }
    let isWanted = registry.withLock { _ in
      guard handle.state.phase == .pending, handle.state.round == round else { return false }
      handle.state.timer = timer
      return true
    }
    if !isWanted { timer.cancel() }
  }

  // MARK: Calling

  private func due(_ handle: TimerHandle, _ round: UInt64) {
    if case .inline = handle.place { return begin(handle, round) }
    // A call that was cancelled after it became due does not reach its place, which might drop another call for it.
    guard registry.withLock({ _ in handle.state.phase == .pending && handle.state.round == round }) else { return }
    let call = Parcel {
      handle.calls.begin(handle, round)
    } comeBack: { error in
      let calls = handle.calls
      if let error { return calls.refused(handle, round, error) }
      // Reported on the timer thread: a call may be dropped on any thread, and reporting runs the program's code.
      _ = handle.service.schedule(at: .distantPast) {
        calls.refused(handle, round, TimerError(.dropped, timers: calls.name))
      }
    }
    handle.place.submit(call)
  }

  private func begin(_ handle: TimerHandle, _ round: UInt64) {
    let body = registry.withLock { _ -> Closure? in
      guard handle.state.phase == .pending, handle.state.round == round else { return nil }
      handle.state.phase = .running
      handle.state.timer = nil
      return handle.state.body
    }
    guard let body else { return }
    do { try body() } catch { report(error, handle) }
    leave(.running, round, of: handle, as: .finished)
  }

  /// The place of delivery threw an error or dropped the call. A one-time call is over; a repeating one waits for its
  /// next time.
  private func refused(_ handle: TimerHandle, _ round: UInt64, _ error: any Error) {
    leave(.pending, round, of: handle, as: .cancelled) { report(error, handle) }
  }

  /// Leaves a phase: arms the next call, or ends the timer. Does nothing if the timer is no longer in that phase.
  private func leave(
    _ phase: TimerHandle.Phase, _ round: UInt64, of handle: TimerHandle, as end: TimerHandle.Phase,
    _ tell: () -> Void = {}
  ) {
    let now = handle.service.now
    let (isMine, next, leftovers) = registry.withLock { registry -> (Bool, Arming?, TimerHandle.State?) in
      guard handle.state.phase == phase, handle.state.round == round else { return (false, nil, nil) }
      if let next = handle.advance(now: now) { return (true, next, nil) }
      return (true, nil, registry.end(handle, as: end))
    }
    guard isMine else { return }
    tell()
    if let next { arm(handle, next) }
    if end == .cancelled { leftovers?.onDrop?() }
  }

  private func report(_ error: any Error, _ handle: TimerHandle) {
    if let onError { return onError(error, handle) }
    HeadgateLog.warn(.timer, "\(name): a call failed: \(error)")
  }

  // MARK: Cancelling

  func cancel(_ handle: TimerHandle) -> Bool {
    let leftovers = registry.withLock { registry -> TimerHandle.State? in
      switch handle.state.phase {
      case .running where handle.repetition == nil && handle.state.moved == nil: return nil
      case .finished, .cancelled: return nil
      case .pending, .running: return registry.end(handle, as: .cancelled)
      }
    }
    guard let leftovers else { return false }
    leftovers.timer?.cancel()
    leftovers.onDrop?()
    return true
  }

  func reschedule(_ handle: TimerHandle, at deadline: Deadline) -> Bool {
    let (answer, timer, next) = registry.withLock { _ -> (Bool, ScheduledTimer?, Arming?) in
      switch handle.state.phase {
      case .finished, .cancelled: return (false, nil, nil)
      case .running:
        handle.state.moved = deadline
        return (true, nil, nil)
      case .pending:
        let timer = handle.state.timer.take()
        return (true, timer, handle.rearm(at: deadline))
      }
    }
    timer?.cancel()
    if let next { arm(handle, next) }
    return answer
  }

  package func cancelAll() -> Int {
    let handles = registry.withLock { $0.handles }
    return handles.count { $0?.cancel() ?? false }
  }

  package func cancelAll(owner: ObjectIdentifier) -> Int {
    let handles = registry.withLock { $0.owned[owner] } ?? [:]
    return handles.values.reduce(0) { $0 + $1.count { $0.cancel() } }
  }

  package func cancelAll(owner: ObjectIdentifier, key: AnyHashable) -> Int {
    let hash = key.hashValue
    let handles = registry.withLock { $0.owned[owner]?[hash] } ?? []
    // Compared without the lock: two keys may have the same hash, and comparing them runs the program's code.
    return handles.count { $0.ownership?.key == key && $0.cancel() }
  }

  /// Cancels all calls, and refuses later ones.
  package func dispose() {
    let handles = registry.withLock { registry in
      registry.isDisposed = true
      return registry.handles
    }
    for handle in handles { handle?.cancel() }
  }
}

/// A decision made under the lock: set the timer for this round.
private struct Arming {
  let round: UInt64
  let deadline: Deadline
}

extension TimerHandle {
  /// Starts a new round that waits for `deadline`. Requires the lock of `calls`.
  fileprivate func rearm(at deadline: Deadline) -> Arming {
    state.phase = .pending
    state.round += 1
    state.deadline = deadline
    return Arming(round: state.round, deadline: deadline)
  }

  /// Advances to the next call; nil if there is none. Requires the lock of `calls`.
  fileprivate func advance(now: Deadline) -> Arming? {
    if let moved = state.moved.take() { return rearm(at: moved) }
    guard let (deadline, missed) = repetition?.next(after: state.deadline, endedAt: now) else { return nil }
    state.missed += missed
    return rearm(at: deadline)
  }
}

/// The handles that have not ended: by slot, so that adding and removing need no hashing, and by owner and key. (With a
/// set, a cancel among a million timers took two and a half times as long.)
///
/// A value guarded by the lock of ``TimerCalls``, which also guards the states of all its handles.
struct TimerRegistry {
  private(set) var handles: [TimerHandle?] = []
  private var free: [Int] = []
  // By owner, then by the key's hash: comparing keys runs the program's code, which must not happen under a lock.
  private(set) var owned: [ObjectIdentifier: [Int: Set<TimerHandle>]] = [:]
  var isDisposed = false

  var count: Int { handles.count - free.count }

  mutating func add(_ handle: TimerHandle) {
    handle.state.place = free.popLast() ?? handles.count
    if handle.state.place == handles.count { handles.append(handle) } else { handles[handle.state.place] = handle }
    guard let ownership = handle.ownership else { return }
    owned[ownership.identifier, default: [:]][ownership.keyHash, default: []].insert(handle)
  }

  /// Ends a timer. Returns what it held, to be released without the lock.
  mutating func end(_ handle: TimerHandle, as phase: TimerHandle.Phase) -> TimerHandle.State {
    let leftovers = handle.state
    handle.state.phase = phase
    handle.state.timer = nil
    handle.state.body = nil
    handle.state.onDrop = nil
    handle.state.moved = nil
    // The caller has its own reference, so this is never the last one.
    handles[leftovers.place] = nil
    free.append(leftovers.place)
    // Memory for a million calls must not be kept forever.
    if free.count == handles.count { (handles, free) = ([], []) }
    if let ownership = handle.ownership { disown(handle, ownership) }
    return leftovers
  }

  private mutating func disown(_ handle: TimerHandle, _ ownership: TimerOwnership) {
    guard let place = owned.index(forKey: ownership.identifier) else { return }
    owned.values[place][ownership.keyHash]?.remove(handle)
    if owned.values[place][ownership.keyHash]?.isEmpty == true { owned.values[place][ownership.keyHash] = nil }
    if owned.values[place].isEmpty { owned.remove(at: place) }
  }
}
