import ArgumentParser
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// A run of a subcommand: what it does itself, on the ``Run`` that it has in common with others.
protocol CommandRun: AnyObject, Sendable {
  var core: Run { get }

  /// Submits all requests. Returns the number of URLs or rows.
  func readAll() async -> Int
  /// What is said of lists that are empty.
  var emptyRemark: String { get }
  /// Writes what is left to its own files, after the last request.
  func close() async
  /// What the display shows.
  var progressState: ProgressState { get }
  /// Lines on what waits outside of the dispatcher.
  var waits: String { get }
}

extension CommandRun {
  var dispatcher: URLDispatcher { core.dispatcher }
  var report: Report { core.report }
  var pending: PendingCount { core.pending }
  var turns: SendingTurns { core.turns }
  var isStopping: Bool { core.isStopping }
  var isOutOfTime: Bool { core.isOutOfTime }
  var timeLeft: Duration? { core.timeLeft }

  /// Sends everything. Returns the exit status after all output is written.
  func run() async -> ExitStatus {
    if let file = core.options.passwordFile, Descriptor.othersMayRead(file) {
      report.remark("other users can read the passwords in \(file); use chmod 600 to prevent that")
    }
    core.display?.observe { [weak self] in
      self.map { ($0.progressState, $0.report.tally.requested) } ?? (ProgressState(), 0)
    }
    core.display?.start()
    let timer = core.endAtDeadline()
    let all = await readAll()
    core.total.withLock { $0 = all }
    await pending.empty()
    core.display?.stop()
    timer?.cancel()
    if all > 0 {
      core.tellUnmetHosts()
    } else if report.tally.exitStatus == .ok {
      report.remark(emptyRemark)
    }
    await core.close()
    await close()
    let (counts, limits) = (dispatcher.gate.counts, dispatcher.gate.limits)
    let refusals = Refusals(of: dispatcher.gate)
    let waited = report.waits.withLock {
      $0.line(after: core.elapsed, limits, hadTrouble: counts.refusals + counts.pauses > 0)
    }
    return await report.finish(waited) {
      $0.summary(seconds: core.elapsed.inSeconds, peak: counts.peak, refusals: refusals)
    }
  }

  /// The first call lets running requests finish, and the second one ends everything at once and returns true.
  @discardableResult
  func interrupt() -> Bool { core.interrupt() }

  // MARK: The process

  /// Runs in a process of its own, which its signals interrupt and ask.
  func runWithSignals() async -> ExitStatus {
    let interrupts = InterruptSignals.ending({ self.isStopping }) {
      guard self.interrupt() else { return }
      // Disks and readers may hang.
      _ = TimerThread.shared.schedule(at: .after(Run.patience)) { _exit(ExitStatus.interrupted.rawValue) }
    }
    let questions = ProgressDisplay.signals(core.display, core.progress, on: report.console) { self.tellState() }
    defer { for signal in interrupts + questions { signal.cancel() } }
    return await run()
  }

  /// Shows the state of every end-point, and what its next request waits for.
  private func tellState() {
    var state = progressState
    state.rows = []
    report.show("headgate: \(state.plain)\n\(waits)\(dispatcher.snapshot())")
  }
}

extension Run {
  /// How long the second interrupt waits before it ends the process. An orderly end takes seconds too on a busy machine.
  fileprivate static let patience = Duration.seconds(5)

  /// What the display shows of any run.
  var progressState: ProgressState {
    let (tally, snapshot) = (report.tally, dispatcher.snapshot())
    var state = ProgressState(
      done: tally.done, running: snapshot.running, queued: snapshot.waiting, failed: tally.unsuccessful,
      bytes: tally.bytes, seconds: elapsed.inSeconds,
      rows: snapshot.endPoints.filter { $0.isBusy || $0.isStopped }.map { ProgressState.Row($0) })
    state.total = total.withLock { $0 }
    return state
  }
}

extension AsyncParsableCommand {
  /// Ends the process with the exit status of a run.
  func exit(after run: () async throws -> ExitStatus) async throws -> Never {
    // An error on a closed output is handled like other errors, and does not end the process.
    signal(SIGPIPE, SIG_IGN)
    throw ExitCode(try await run().rawValue)
  }
}
