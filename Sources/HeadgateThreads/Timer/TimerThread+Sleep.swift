extension TimerThread {
  /// Suspends the task until the deadline has passed, not before; returns at once if it has. Blocks no thread.
  ///
  /// A blocking sleep, for threads, is `ManagedThread.sleep`.
  ///
  /// - Throws: ``WaitError`` with `cancelled` when the task is cancelled, before or meanwhile; `closed` when the timer
  ///   thread is disposed of.
  public func sleep(until deadline: Deadline) async throws(WaitError) {
    let start = now
    if Task.isCancelled { throw WaitError(.cancelled, operation: "sleep on \"\(name)\"") }
    let waiter = Waiter.ofTask()
    var outcome = Waiter.Outcome.woken
    do {
      var options = TimerCalls.Options()
      options.isWait = true
      // `woken` here is the timer taken back under the sleeper: a disposal.
      let handle = try calls.start(on: self, at: deadline, options) {
        waiter.end(.timedOut)
      } onCancel: {
        waiter.end(.woken)
      }
      outcome = await waiter.wait(until: .distantFuture)
      if outcome == .cancelled { handle.cancel() }
    } catch {}
    if outcome == .timedOut { return }
    throw WaitError(
      outcome == .cancelled ? .cancelled : .closed, operation: "sleep on \"\(name)\"", waited: now - start)
  }

  /// Suspends the task for so long. See ``sleep(until:)``.
  public func sleep(for duration: Duration) async throws(WaitError) { try await sleep(until: now + duration) }
}
