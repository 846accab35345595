import HeadgateThreads

// Limits on time. An operation keeps at most four timers, all in the dispatcher's one heap; one with a least speed
// keeps that timer in its `DownloadMeter`.

extension DispatchOperation {
  func armDeadline(at deadline: Deadline) {
    keep(core.schedule(at: deadline) { [self] in fail(DispatchError(.deadlineExceeded)) }, as: .deadline)
  }

  /// What is left of the request's `timeout`, counted over the time that it ran only.
  func armTimeout(from now: Deadline, after ran: Int64, hop: Int) {
    guard let timeout = request.fields.timeoutNanoseconds else { return }
    let end = now.advanced(byNanoseconds: timeout.subtractingReportingOverflow(ran).partialValue)
    keep(core.schedule(at: end) { [self] in fail(DispatchError(.timedOut)) }, as: .timeout, hop: hop)
  }

  func dropTimeout() {
    if let key = state.withLock({ $0.takeTimeout() }) { drop(key) }
  }

  /// The idle limit looks only when it might have passed: no timer is touched when a piece of the body comes.
  func armIdle(from now: Deadline, after wait: Int64) {
    keep(core.schedule(at: now.advanced(byNanoseconds: wait)) { [self] in idleCheck() }, as: .idle)
  }

  /// The moment of something that came, for the idle limit: the clock is not read for a request that has none.
  var activity: Deadline { request.fields.idleNanoseconds == nil ? .distantPast : core.now }

  /// Something came that is told in no other way.
  func heard() {
    guard request.fields.idleNanoseconds != nil else { return }
    let now = core.now
    state.withLock { $0.lastActivity = max($0.lastActivity, now) }
  }

  private func idleCheck() {
    guard let limit = request.fields.idleNanoseconds else { return }
    let now = core.now
    let upload = state.withLock { $0.control } as? UploadExchange
    let (lastSent, isHeld) = (upload?.lastSent ?? .distantPast, upload?.isHeldByProducer ?? false)
    let silence = state.withLock { state -> Int64 in
      // It rests while the consumer holds the transfer, while the request waits for a permit, and while its own body is
      // not there.
      if !state.isListening || isHeld { state.lastActivity = now }
      state.lastActivity = max(state.lastActivity, lastSent)
      return now.nanoseconds(since: state.lastActivity)
    }
    if silence >= limit { fail(DispatchError(.idleTimedOut)) } else { armIdle(from: now, after: limit - silence) }
  }

  /// Keeps a timer for as long as the operation is undecided; lets it go at once when it is not.
  func keep(_ key: TimerQueue.Key, as kind: OperationTimers.Kind, hop: Int = 0) {
    if let superfluous = state.withLock({ $0.keep(key, as: kind, hop: hop) }) { drop(superfluous) }
  }

  func drop(_ key: TimerQueue.Key) { core.cancel(key) }
}
