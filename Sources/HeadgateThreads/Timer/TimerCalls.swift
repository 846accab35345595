// What the timers of one thread do beyond the bare call, over any clock: the states of a call and who owns it.

/// All calls of the `perform` family that have not ended, and the one lock that guards their states.
///
/// A call goes pending -> running on the timer thread, or pending -> handed over -> running on a target; a repeating one
/// from there to pending again. Each step is decided under the lock, against the arming (`round`) that it belongs to; a
/// cancel or a move between the hand-over and the start makes the target's closure find another round and do nothing.
package final class TimerCalls: Sendable {
  fileprivate let name: String
  private let limit: Int
  private let onError: (@Sendable (any Error, TimerHandle) -> Void)?
  private let registry = Locked(TimerRegistry())

  package init(name: String, limit: Int?, onError: (@Sendable (any Error, TimerHandle) -> Void)?) {
    self.name = name
    self.limit = limit ?? .max
    self.onError = onError
  }

  /// Calls that have not ended.
  package var count: Int { registry.withLock { $0.count } }

  func read<Value: Sendable>(_ handle: TimerHandle, _ body: (TimerHandle.State) -> Value) -> Value {
    registry.withLock { _ in body(handle.state) }
  }

  // MARK: Setting

  package struct Options: Sendable {
    package var target = TimerTarget.timerThread
    package var repetition: TimerRepetition?
    package var ownership: TimerOwnership?
    // A wait of the library's own: no limit refuses it, and only a disposal takes it back.
    package var isWait = false

    package init(
      target: TimerTarget = .timerThread, repetition: TimerRepetition? = nil, ownership: TimerOwnership? = nil
    ) {
      self.target = target
      self.repetition = repetition
      self.ownership = ownership
    }
  }

  package func start(
    on service: any TimerService, at deadline: Deadline, _ options: Options,
    _ body: @escaping @Sendable () throws -> Void, onCancel: (@Sendable () -> Void)?
  ) throws(TimerError) -> TimerHandle {
    if let repetition = options.repetition, repetition.nanoseconds <= 0 {
      throw TimerError(.invalidInterval, timers: name)
    }
    let handle = TimerHandle(
      calls: self, service: service, target: options.target, repetition: options.repetition,
      ownership: options.ownership, isWait: options.isWait,
      state: TimerHandle.State(deadline: deadline, body: TimerHandle.Body(call: body), onCancel: onCancel))
    let refusal = registry.withLock { registry -> TimerError.Code? in
      if registry.isDisposed { return .disposed }
      if !options.isWait, registry.count >= limit { return .full }
      registry.add(handle)
      return nil
    }
    if let refusal { throw TimerError(refusal, timers: name) }
    arm(handle, Arming(round: 0, deadline: deadline))
    return handle
  }

  /// Sets the timer of one arming. It may be due, or taken back, before this comes to write down which it is.
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
    guard case .submit(let submit) = handle.target.kind else {
      return begin(handle, round, from: .pending)
    }
    let isMine = registry.withLock { _ in
      guard handle.state.phase == .pending, handle.state.round == round else { return false }
      handle.state.phase = .handedOver
      handle.state.timer = nil
      return true
    }
    guard isMine else { return }
    let call = HandedOverCall(handle, round)
    do { try submit { call.begin() } } catch { refused(handle, round, error) }
  }

  fileprivate func begin(_ handle: TimerHandle, _ round: UInt64, from phase: TimerHandle.Phase) {
    let body = registry.withLock { _ -> TimerHandle.Body? in
      guard handle.state.phase == phase, handle.state.round == round else { return nil }
      handle.state.phase = .running
      handle.state.timer = nil
      return handle.state.body
    }
    guard let body else { return }
    do { try body.call() } catch { report(error, handle) }
    ended(handle)
  }

  /// A call is over: sets the next one, if there is one.
  private func ended(_ handle: TimerHandle) {
    let now = handle.service.now
    let (next, leftovers) = registry.withLock { registry -> (Arming?, TimerHandle.State?) in
      // Cancelled during the call: all was done then.
      guard handle.state.phase == .running else { return (nil, nil) }
      if let next = handle.advance(now: now) { return (next, nil) }
      return (nil, registry.end(handle, as: .finished))
    }
    if let next { arm(handle, next) }
    _ = consume leftovers
  }

  /// The target threw, or let the call go: a call once is over, a repeating one waits for its next moment.
  fileprivate func refused(_ handle: TimerHandle, _ round: UInt64, _ error: any Error) {
    let now = handle.service.now
    let (isMine, next, leftovers) = registry.withLock { registry -> (Bool, Arming?, TimerHandle.State?) in
      guard handle.state.phase == .handedOver, handle.state.round == round else { return (false, nil, nil) }
      if let next = handle.advance(now: now) { return (true, next, nil) }
      return (true, nil, registry.end(handle, as: .cancelled))
    }
    guard isMine else { return }
    report(error, handle)
    if let next { arm(handle, next) }
    leftovers?.onCancel?()
  }

  private func report(_ error: any Error, _ handle: TimerHandle) {
    if let onError { return onError(error, handle) }
    HeadgateLog.warn(.timer, "\(name): a call failed: \(error)")
  }

  // MARK: Taking back

  func cancel(_ handle: TimerHandle) -> Bool {
    let leftovers = registry.withLock { registry -> TimerHandle.State? in
      switch handle.state.phase {
      case .running where handle.repetition == nil && handle.state.moved == nil: return nil
      case .finished, .cancelled: return nil
      case .pending, .handedOver, .running: return registry.end(handle, as: .cancelled)
      }
    }
    guard let leftovers else { return false }
    leftovers.timer?.cancel()
    leftovers.onCancel?()
    return true
  }

  func reschedule(_ handle: TimerHandle, at deadline: Deadline) -> Bool {
    let (answer, timer, next) = registry.withLock { _ -> (Bool, ScheduledTimer?, Arming?) in
      switch handle.state.phase {
      case .finished, .cancelled: return (false, nil, nil)
      case .running:
        handle.state.moved = deadline
        return (true, nil, nil)
      case .pending, .handedOver:
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
    return handles.count { handle in handle.map { !$0.isWait && $0.cancel() } ?? false }
  }

  package func cancelAll(owner: ObjectIdentifier) -> Int {
    let handles = registry.withLock { $0.owned[owner] } ?? [:]
    return handles.values.reduce(0) { $0 + $1.count { $0.cancel() } }
  }

  package func cancelAll(owner: ObjectIdentifier, key: AnyHashable) -> Int {
    let hash = key.hashValue
    let handles = registry.withLock { $0.owned[owner]?[hash] } ?? []
    // Compared out here: two keys may share a hash, and comparing runs code of the program.
    return handles.count { $0.ownership?.key == key && $0.cancel() }
  }

  /// Cancels all calls and waits, and refuses later ones.
  package func dispose() {
    let handles = registry.withLock { registry in
      registry.isDisposed = true
      return registry.handles
    }
    for handle in handles { handle?.cancel() }
  }
}

/// What the lock decided: the timer is to be set for this round.
private struct Arming {
  let round: UInt64
  let deadline: Deadline
}

extension TimerHandle {
  /// Makes it wait for `deadline` under a new round. Under the lock of `calls`.
  fileprivate func rearm(at deadline: Deadline) -> Arming {
    state.phase = .pending
    state.round += 1
    state.deadline = deadline
    return Arming(round: state.round, deadline: deadline)
  }

  /// Moves on to the next call; nil when there is none. Under the lock of `calls`.
  fileprivate func advance(now: Deadline) -> Arming? {
    if let moved = state.moved.take() { return rearm(at: moved) }
    guard let (deadline, missed) = repetition?.next(after: state.deadline, endedAt: now) else { return nil }
    state.missed += missed
    return rearm(at: deadline)
  }
}

/// A call in its target's hands. If the target lets go of it without beginning it, the timer hears of that.
private final class HandedOverCall: Sendable {
  private let handle: TimerHandle
  private let round: UInt64

  init(_ handle: TimerHandle, _ round: UInt64) {
    self.handle = handle
    self.round = round
  }

  func begin() { handle.calls.begin(handle, round, from: .handedOver) }

  deinit {
    let (handle, round) = (handle, round)
    // Begun, or taken back: nothing was lost.
    guard handle.calls.read(handle, { $0.phase == .handedOver && $0.round == round }) else { return }
    // Told on the timer thread: who lets go of it may be anywhere, and what comes of it runs code of the program.
    _ = handle.service.schedule(at: .distantPast) {
      handle.calls.refused(handle, round, TimerError(.dropped, timers: handle.calls.name))
    }
  }
}
