import HeadgateDispatch
import HeadgateThreads

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

  /// Signals that concern what is shown, for the process itself.
  func progressSignals() -> [InterruptSignals] {
    ProgressDisplay.signals(display, progress, on: report.console) { [weak self] in self?.tellState() }
  }

  /// Shows what every end-point does, and what its next request waits for.
  func tellState() {
    var (state, _) = progressState()
    state.rows = []
    report.show("headgate: \(state.plain)\n\(dispatcher.snapshot())")
  }
}
