import HTTPTypes
import HeadgateFlow
import HeadgateThreads

extension DispatchOperation {
  /// A first attempt is made: the budget for further ones grows by its share.
  func enterBudget() { request.fields.retry?.budget?.deposit() }

  /// Plans another attempt after a head that asks for one, and says what is to become of its body. Nil: there is none.
  func retried(_ head: ResponseHead) -> BodyFlow? {
    guard let policy = request.fields.retry, policy.statusCodes.contains(head.statusCode) else { return nil }
    guard plan(policy, asked: head[.retryAfter].flatMap { RetryAfter.wait($0) }) else { return nil }
    return redirectBodyFlow(head.declaredLength ?? 0)
  }

  /// Plans another attempt after an exchange that failed.
  func planRetry(after failure: DispatchError?) {
    guard let policy = request.fields.retry, let failure, policy.isPassing(failure) else { return }
    _ = plan(policy, asked: nil)
  }

  /// Plans to send it again at once after a connection that had been closed. Takes nothing from the budget, which is
  /// about servers that are overloaded: this one has answered nothing yet.
  func planRepeat(after failure: DispatchError?) {
    guard failure?.code == .connectionLost else { return }
    let attempts = request.fields.mayRetry ? request.fields.retry?.attempts : nil
    _ = state.withLock { $0.planRepeat(of: request, attempts: attempts) }
  }

  private func plan(_ policy: RetryPolicy, asked: Duration?) -> Bool {
    guard !isClosing else { return false }
    let now = core.now
    guard let attempt = state.withLock({ $0.attempt(of: request, at: now) }), policy.mayRepeat(attempt.request) else {
      return false
    }
    var random = SystemRandom()
    guard let wait = policy.wait(after: attempt.made, asked: asked, left: attempt.left, using: &random) else {
      return false
    }
    return state.withLock { $0.planRetry(attempt.request, after: wait) }
  }

  /// The old exchange is over: gives the permit back, and brings the request to the gate once it has rested.
  func rest(_ next: DispatchRequest, for wait: Duration, at now: Deadline) {
    let (ticket, hop) = state.withLock { ($0.beginRest(next, at: now), $0.hop) }
    guard let ticket else { return conclude(state.withLock { $0.over(at: now) }) }
    dropTimeout()
    observeResting(wait, at: now)
    // Known to the dispatcher before the gate forgets it, so that whoever ends all of them finds it in one place.
    _ = core.enterRest(self)
    core.finish(ticket)
    keep(core.schedule(at: now + wait) { [self] in wake() }, as: .rest, hop: hop)
    if isClosing { fail(DispatchError(.shutDown)) }
    // A verdict that came before `enterRest` found nothing to take away.
    if state.withLock({ $0.isDecided }) { core.leaveRest(self) }
  }

  private func wake() {
    let now = core.now
    core.leaveRest(self)
    if kind == .intercepted { return prepareAgain(.retry) }
    guard let attempt = state.withLock({ $0.endRest(of: request, at: now) }) else { return }
    observeWaiting(attempt.request, .retry, at: now)
    let refusal = bring(
      attempt.request, attempt.lane, attempt.priority, patience: .waits, mayBeHeld: true, at: now,
      as: .returning(age: submitted.nanoseconds))
    if let refusal { return fail(refusal) }
    // A dispatcher that shares its gate may have closed since it left those that rest: it can't have seen this one.
    if core.isClosed { fail(DispatchError(.shutDown)) }
  }

  /// Whether nothing is sent again, because the dispatcher or its gate takes no more.
  private var isClosing: Bool { core.isClosed || core.gate.isClosing }
}
