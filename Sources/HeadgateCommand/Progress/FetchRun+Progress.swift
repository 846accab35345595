import HeadgateDispatch
import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension ProgressDisplay {
  /// Shows how far a run is.
  func observe(_ run: FetchRun) {
    observe { [weak run] in run?.progressState() ?? (ProgressState(), 0) }
  }
}

extension FetchRun {
  fileprivate func progressState() -> (state: ProgressState, ended: Int) {
    let tally = report.tally
    let snapshot = dispatcher.snapshot()
    var state = ProgressState(
      done: tally.done, running: snapshot.running, queued: snapshot.waiting, failed: tally.failed,
      bytes: received?.value ?? tally.bytes, seconds: elapsed.inSeconds,
      rows: snapshot.endPoints.map { ProgressState.Row($0) })
    // A list that grew while it was read has more than was counted.
    state.total = total.withLock { $0 } ?? expected.withLock { $0 }.map { max($0, tally.done) }
    return (state, tally.ok + tally.failed)
  }

  /// Counts what the lists have, for the time that is left: they are read only as fast as they are worked off.
  func countLists() {
    guard progress != .none else { return }
    let (paths, given) = (options.lists, options.urls.count)
    guard !paths.contains("-") else { return }
    ListCount.lane.run { [weak self] in
      var count = given
      for path in paths {
        guard let more = ListCount.of(path, while: { self.map { !$0.isStopping } ?? false }) else { return }
        count += more
      }
      self?.expected.withLock { $0 = count }
    }
  }

  /// Signals that have to do with what is shown, for the process itself.
  func progressSignals() -> [InterruptSignals] {
    var signals = [InterruptSignals(Self.questions) { [weak self] in self?.tellState() }]
    guard progress == .full, let display else { return signals }
    let console = report.console
    signals.append(InterruptSignals([SIGWINCH]) { display.repaint() })
    signals.append(
      InterruptSignals([SIGCONT]) {
        console.releaseStatus()
        display.repaint()
      })
    signals.append(InterruptSignals([SIGTSTP]) { FetchRun.stop(after: console) })
    return signals
  }

  /// SIGUSR1, and where there is one the signal of Ctrl-T.
  private static var questions: [Int32] {
    #if canImport(Darwin)
    [SIGUSR1, SIGINFO]
    #else
    [SIGUSR1]
    #endif
  }

  /// Ctrl-Z: the panel goes first, so that the shell's prompt does not stand in it.
  private static func stop(after console: LineWriter) {
    // The system does not stop what no shell could continue. What follows would.
    guard getpid() != 1, getsid(getppid()) == getsid(0) else { return }
    console.holdStatus()
    Task {
      await console.flush()
      kill(getpid(), SIGSTOP)
    }
  }

  /// Shows what every end-point does, and what its next request waits for.
  func tellState() {
    var (state, _) = progressState()
    state.rows = []
    report.show("headgate: \(state.plain)\n\(dispatcher.snapshot())")
  }
}
