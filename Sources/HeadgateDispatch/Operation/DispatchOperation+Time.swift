import HeadgateThreads

// Time limits and the minimum speed. An operation has at most four timers, all in the dispatcher's single heap. The
// timer of the minimum speed is in the `DownloadMeter`.

extension DispatchOperation {
  func armDeadline(at deadline: Deadline) {
    keep(
      core.schedule(at: deadline) { [self] in
        // Does not count the requests ahead: many may end at the same time, and each count is O(n).
        let reason = state.withLock { $0.ticket }.flatMap { core.gate.waitReason(of: $0, asNext: true) }
        fail(DispatchError(.deadlineExceeded, waitReason: reason))
      }, for: .deadline)
  }

  /// Arms what is left of the request's `timeout`, which counts only running time.
  func armTimeout(_ start: TimeoutStart, from now: Deadline) {
    guard let timeout = request.fields.timeoutNanoseconds else { return }
    let end = now.advanced(byNanoseconds: timeout.subtractingReportingOverflow(start.ran).partialValue)
    // Captures nothing else, which would cost each request an allocation.
    let timer = core.schedule(at: end) { [self] in timeoutFired() }
    keep(timer, for: .timeout(start: start.number))
  }

  /// The timer may be that of an earlier start: its thread may have been suspended before it stored the timer.
  private func timeoutFired() {
    guard let timeout = request.fields.timeoutNanoseconds else { return }
    let now = core.now
    fail(DispatchError(.timedOut)) { $0.hasRun(timeout, at: now) }
  }

  /// Arms the timer of the next attempt.
  func armBackoff(until moment: Deadline, after attempts: Int) {
    let timer = core.schedule(at: moment) { [self] in
      let now = core.now
      if let next = state.withLock({ $0.woke(at: now) }) { perform(next, at: now) }
    }
    keep(timer, for: .backOff(attempts: attempts))
  }

  /// Arms the end of the time for which it keeps its permit while it is prepared again.
  func armRenewal(until moment: Deadline, of number: Int) {
    let timer = core.schedule(at: moment) { [self] in
      guard state.withLock({ $0.renewal?.number == number }) else { return }
      core.held.withLock { $0.tooSlow(self) }
      givePermitBack()
    }
    keep(timer, for: .renewal(number: number))
  }

  /// The idle timer fires only when the limit may have passed, so arriving data never touches a timer.
  func armIdle(from now: Deadline, after wait: Int64) {
    keep(core.schedule(at: now.advanced(byNanoseconds: wait)) { [self] in lookWhetherIdle() }, for: .idle)
  }

  private func lookWhetherIdle() {
    guard let exchange = silentExchange() else { return }
    guard let control = exchange.control else { return endIfSilent() }
    control.lookForUnreadBytes { [self] found in
      if found { receivedActivity() }
      endIfSilent()
    }
  }

  private func endIfSilent() {
    guard let limit = idleLimit, let exchange = silentExchange() else { return }
    // That is a failure of the exchange, and another attempt may follow.
    guard request.fields.mayRetry else { return fail(DispatchError(.idleTimedOut)) }
    let fault = DispatchError(.idleTimedOut, phase: exchange.control?.phase ?? .awaitingHead)
    if let control = state.withLock({ $0.giveUpExchange(exchange.number, because: fault) }) {
      control.cancel()
    } else {
      // The exchange has just ended.
      armIdle(from: core.now, after: limit)
    }
  }

  /// The exchange, if nothing was sent or received for as long as the limit. Arms the next check otherwise.
  private func silentExchange() -> (number: Int?, control: (any ExchangeControl)?)? {
    guard let limit = idleLimit, !lostUsualLimit else { return nil }
    let now = core.now
    let prepared = prepared(state.withLock { $0.control })
    let (lastSent, isHeld) = (prepared?.lastSent ?? .distantPast, prepared?.isHeldByProducer ?? false)
    let (silence, number, control) = state.withLock {
      ($0.silence(isHeld: isHeld, lastSent: lastSent, at: now), $0.exchange?.number, $0.control)
    }
    if silence >= limit { return (number, control) }
    armIdle(from: now, after: limit - silence)
    return nil
  }

  /// The exchange with a body that a control belongs to.
  private func prepared(_ control: (any ExchangeControl)?) -> PreparedExchange? {
    ((control as? ThrottledExchange)?.below ?? control) as? PreparedExchange
  }

  /// The usual limit is for short requests only: it was moved to the long lane.
  private var lostUsualLimit: Bool {
    !request.fields.rare.hasIdleTimeout && state.withLock { $0.lane == .long }
  }

  private func keep(_ timer: TimerQueue.Key, for purpose: OperationTimers.Purpose) {
    if let superfluous = state.withLock({ $0.keep(timer, for: purpose) }) { core.cancel(superfluous) }
  }

  // MARK: Speed

  /// Speed is checked only at the end of an interval: a piece of the body is merely counted.
  func armInterval(_ meter: DownloadMeter, from now: Deadline) {
    guard let speed = meter.speed else { return }
    let timer = core.schedule(at: now.advanced(byNanoseconds: speed.intervalNanoseconds)) { [self] in lookAtSpeed(meter)
    }
    if let superfluous = meter.keep(timer) { core.cancel(superfluous) }
  }

  private func lookAtSpeed(_ download: DownloadMeter) {
    let now = core.now
    let (control, isListening, resumes) = state.withLock { ($0.control, $0.isListening, $0.resumes) }
    let isHeldByProducer = prepared(control)?.isHeldByProducer ?? false
    let (sent, waits) = meter?.flow ?? (0, 0)
    let isTooSlow = download.isTooSlow(
      sent: sent, interruptions: resumes + waits, isHeld: !isListening || isHeldByProducer)
    if isTooSlow { return fail(DispatchError(.tooSlow)) }
    armInterval(download, from: now)
  }
}
