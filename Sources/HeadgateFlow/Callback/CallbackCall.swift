// One call of a callback function, whatever the function does: it answers in time, late, twice or never, at once or from
// another thread, while it is being cancelled. Decided under the lock, acted on after it.

import HeadgateThreads

/// How a call ends for the one who made it.
enum CallEnd<Success: Sendable, Failure: Error>: Sendable {
  case success(Success)
  case failure(Failure)
  /// Without an answer of the function: `unanswered`, `wouldDeadlock`, `undeliverable`; in the last case for a reason.
  case missing(FlowErrorCode, (any Error)? = nil)

  init(_ result: Result<Success, Failure>) {
    switch result {
    case .success(let value): self = .success(value)
    case .failure(let failure): self = .failure(failure)
    }
  }
}

/// A call of a callback function: who hears of its end, and the ways to cancel it.
///
/// Held by the one who calls; the function holds it too, through its ``Completion``, whose end of life is noticed.
final class CallbackCall<Success: Sendable, Failure: Error>: Sendable {
  typealias End = CallEnd<Success, Failure>

  /// Whoever hears of the end. False: it came too late and was not taken.
  struct Receiver: Sendable {
    let receive: @Sendable (End) -> Bool
  }

  struct Hook: Sendable {
    let run: @Sendable () throws -> Void
  }

  /// A combinator beneath: told of every cancellation, since a deadline after a cancel means more than the cancel. It
  /// knows best what a success is made of that nobody takes.
  struct Combinator: Sendable {
    let cancelled: @Sendable (FlowErrorCode) -> Void
    let discard: (@Sendable (Success) -> Void)?
  }

  private struct State {
    // Until the end.
    var receiver: Receiver?
    var hooks: [Hook] = []
    var combinator: Combinator?
    var target = Delivery.inline
    // Why it was cancelled.
    var reason: FlowErrorCode?
    var hasEnded = false
    var isGivenUp = false
    var hasComplained = false
  }

  /// What an answer comes to.
  private enum Step {
    case deliver(Receiver, Delivery)
    case late
    case again
  }

  private let state: Locked<State>
  /// What the thread does for others that blocks until the end of this call, or of one that this is a part of.
  let duties: ThreadDuties?
  private let discard: (@Sendable (Success) -> Void)?
  private let abandoned: AbandonedCount

  init(
    duties: ThreadDuties?, discard: (@Sendable (Success) -> Void)? = nil, abandoned: AbandonedCount = .process,
    _ receive: @escaping @Sendable (End) -> Bool
  ) {
    state = Locked(State(receiver: Receiver(receive: receive)))
    self.duties = duties
    self.discard = discard
    self.abandoned = abandoned
  }

  /// Why it was cancelled; nil if it was not.
  var reason: FlowErrorCode? { state.withLock { $0.reason } }

  // MARK: The function's side

  /// The function has answered, or (`missing`) let go of its completion.
  func answer(_ end: End) {
    let (step, _, combinator) = state.withLock { state -> (Step, [Hook], Combinator?) in
      guard !state.hasEnded else { return (.again, [], nil) }
      state.hasEnded = true
      // What they hold is let go of out there.
      defer { (state.receiver, state.hooks, state.combinator) = (nil, [], nil) }
      guard let receiver = state.receiver else { return (.late, state.hooks, state.combinator) }
      return (.deliver(receiver, state.target), state.hooks, state.combinator)
    }
    switch step {
    case .deliver(let receiver, let target): deliver(end, to: receiver, at: target, combinator)
    case .late:
      abandoned.end()
      discard(end, combinator)
    case .again:
      // The end of a completion that was called says nothing.
      if case .missing = end { return }
      complain()
      discard(end, combinator)
    }
  }

  private func deliver(_ end: End, to receiver: Receiver, at target: Delivery, _ combinator: Combinator?) {
    let parcel = Parcel { [self] in
      if !receiver.receive(end) { discard(end, combinator) }
    } comeBack: { [self] error in
      discard(end, combinator)
      _ = receiver.receive(.missing(.undeliverable, error))
    }
    target.submit(parcel)
  }

  /// A success that nobody takes. Either knows how to destroy it; it is destroyed once.
  private func discard(_ end: End, _ combinator: Combinator? = nil) {
    guard case .success(let value) = end else { return }
    if let discard = combinator?.discard ?? discard { discard(value) }
  }

  /// A value that came beside the answer.
  func drop(_ value: Success) { discard?(value) }

  private func complain() {
    let isFirst = state.withLock { state in
      defer { state.hasComplained = true }
      return !state.hasComplained
    }
    if isFirst { HeadgateLog.warn(.flow, "a completion was called again; only its first call counts") }
  }

  /// Has the answer delivered at a place. Refused, and the call ended, where that place waits for this answer.
  func deliver(on target: Delivery) {
    if let duties, target.needs(duties) { return refuse(.wouldDeadlock) }
    // The old place leaves the lock before it is let go.
    let old = state.withLock { state -> Delivery in
      defer { state.target = target }
      return state.target
    }
    _ = consume old
  }

  /// Ends it for the one who made it; the function is cancelled and goes on with nobody waiting.
  private func refuse(_ code: FlowErrorCode) {
    guard let receiver = stopListening() else { return }
    cancel(.cancelled)
    _ = receiver.receive(.missing(code))
  }

  /// Has a hook run when the call is cancelled; at once if it is, never once it has ended.
  func onCancel(_ hook: Hook) {
    let mustRun = state.withLock { state in
      guard !state.hasEnded else { return false }
      guard state.reason == nil else { return true }
      state.hooks.append(hook)
      return false
    }
    if mustRun { run(hook) }
  }

  /// Makes a combinator hear of every cancellation, of those that have come too.
  func attach(_ combinator: Combinator) {
    let reason = state.withLock { state -> FlowErrorCode? in
      guard !state.hasEnded else { return nil }
      state.combinator = combinator
      return state.reason
    }
    if let reason { combinator.cancelled(reason) }
  }

  // MARK: The caller's side

  /// Asks the function to end. The hooks run here, with no lock held.
  func cancel(_ reason: FlowErrorCode) {
    let (hooks, combinator) = state.withLock { state -> ([Hook], Combinator?) in
      guard !state.hasEnded, state.reason != reason, state.reason != .timedOut else { return ([], nil) }
      state.reason = reason
      defer { state.hooks = [] }
      return (state.hooks, state.combinator)
    }
    for hook in hooks where !state.withLock({ $0.hasEnded }) { run(hook) }
    combinator?.cancelled(reason)
  }

  private func run(_ hook: Hook) {
    do { try hook.run() } catch { HeadgateLog.warn(.flow, "a cancel hook threw an error: \(error)") }
  }

  /// Nobody waits any more. What is still to come is counted as abandoned until it has come, and then discarded.
  func giveUp() { _ = stopListening() }

  private func stopListening() -> Receiver? {
    state.withLock { state in
      guard !state.hasEnded, !state.isGivenUp else { return nil }
      state.isGivenUp = true
      abandoned.begin()
      return state.receiver.take()
    }
  }
}
