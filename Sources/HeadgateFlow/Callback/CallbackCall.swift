// One call of a callback function, whatever the function does: it may answer in time, late, twice or never, at once or
// from another thread, or while it is being cancelled. Decisions are made under the lock, and acted on after it.

import HeadgateThreads

/// A call of a callback function: its answer, its waiter, and its cancellation handlers.
///
/// Whichever comes first decides: the answer or the end of the wait. An available answer is never discarded because of
/// a deadline that has passed meanwhile. The function retains the call through its ``Completion``, whose release is
/// detected.
final class CallbackCall<Success: Sendable>: Sendable {
  typealias Answer = Result<Success, any Error>

  private enum Phase {
    case open(Waiter?)
    case answered(Answer)
    /// The caller has stopped waiting; the answer has not arrived.
    case left
    case over

    /// Whether the function has answered.
    var hasAnswer: Bool {
      switch self {
      case .open, .left: false
      case .answered, .over: true
      }
    }
  }

  private struct State {
    var phase = Phase.open(nil)
    var hooks: [Closure] = []
    var isCancelled = false
    /// Why the wait ended before the answer.
    var refusal: WaitError?
    var hasComplained = false

    mutating func takeHooks() -> [Closure] {
      defer { hooks = [] }
      return hooks
    }
  }

  private let state = Locked(State())
  /// The thread that is blocked until the end of this call, or of a call that contains it.
  private let blocked: BlockedThread?
  private let discard: (@Sendable (Success) -> Void)?
  private let abandoned: AbandonedCount

  init(
    blocked: BlockedThread? = .current, discard: (@Sendable (Success) -> Void)? = nil,
    abandoned: AbandonedCount = .process
  ) {
    self.blocked = blocked
    self.discard = discard
    self.abandoned = abandoned
  }

  // MARK: The function's side

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Called when the function answers.
  func answer(_ answer: Answer) {
    guard !takes(answer) else { return }
    let mustComplain = state.withLock { state in
      defer { state.hasComplained = true }
      return !state.hasComplained
    }
    if mustComplain { HeadgateLog.warn(.flow, "a completion was called more than once; only the first call counts") }
    drop(answer)
  }

  /// Called when the function has released its completion. Has no effect if it has answered.
  func completionReleased() { _ = takes(.failure(FlowError(.completionReleased, operation: "a callback function"))) }

  /// Accepts an answer. Returns false if there was one before.
  private func takes(_ answer: Answer) -> Bool {
    // The hooks' captures are released here, without the lock.
    let (phase, _) = state.withLock { state -> (Phase, [Closure]) in
      let phase = state.phase
      switch phase {
      case .open: state.phase = .answered(answer)
      case .left: state.phase = .over
      case .answered, .over: return (phase, [])
      }
      return (phase, state.takeHooks())
    }
    switch phase {
    case .open(let waiter): waiter?.end(.woken)
    case .left:
      abandoned.end()
      drop(answer)
    case .answered, .over: return false
    }
    return true
  }

  /// Discards a success that came too late.
  func drop(_ answer: Answer) { if case .success(let value) = answer { discard?(value) } }

  /// Called when the function announces the place of its answer. If that place cannot make progress before the answer
  /// arrives, the wait ends at once, and the function is cancelled.
  func expectAnswer(on target: Delivery) {
    guard let blocked, blocked.isNeeded(by: target) else { return }
    let waiter = state.withLock { state -> Waiter? in
      guard case .open(let waiter) = state.phase else { return nil }
      // Decided under the lock: an answer of a cancellation handler comes too late.
      state.phase = .left
      state.refusal = WaitError(.wouldDeadlock, operation: "a callback function")
      abandoned.begin()
      return waiter
    }
    waiter?.end(.woken)
    cancel()
  }

  /// Adds a hook for cancellation. Runs it at once if the call is already cancelled; drops it if the call has ended.
  func onCancel(_ hook: Closure) {
    let mustRun = state.withLock { state in
      if state.phase.hasAnswer { return false }
      if !state.isCancelled { state.hooks.append(hook) }
      return state.isCancelled
    }
    if mustRun { run(hook) }
  }

  private func run(_ hook: Closure) {
    do { try hook() } catch { HeadgateLog.warn(.flow, "a cancellation handler threw an error: \(error)") }
  }

  // MARK: The caller's side

  /// Registers a waiter for the answer. Returns false if the answer has arrived or can no longer be awaited.
  func listen(_ waiter: Waiter) -> Bool {
    state.withLock { state in
      guard case .open = state.phase else { return false }
      state.phase = .open(waiter)
      return true
    }
  }

  /// Stops waiting. Returns the answer if it has arrived. Otherwise the call counts as abandoned until the answer
  /// arrives and is discarded.
  func leave() -> Answer? {
    state.withLock { state in
      switch state.phase {
      case .answered(let answer):
        state.phase = .over
        return answer
      case .open:
        state.phase = .left
        abandoned.begin()
        return nil
      case .left, .over: return state.refusal.map { .failure($0) }
      }
    }
  }

  /// Cancels the function. The hooks run on the calling thread, without a lock, until one of them has answered.
  func cancel() {
    let hooks = state.withLock { state in
      state.isCancelled = true
      return state.takeHooks()
    }
    for hook in hooks where !state.withLock({ $0.phase.hasAnswer }) { run(hook) }
  }
}
