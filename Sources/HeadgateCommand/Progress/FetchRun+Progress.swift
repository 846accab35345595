import HeadgateDispatch
import HeadgateThreads

extension ProgressDisplay {
  /// Shows the progress of a run.
  func observe(_ run: FetchRun) {
    observe { [weak run] in run?.progressState() ?? (ProgressState(), 0) }
  }
}

extension FetchRun {
  fileprivate func progressState() -> (state: ProgressState, ended: Int) {
    let tally = report.tally
    let snapshot = dispatcher.snapshot()
    var state = ProgressState(
      done: tally.done, running: snapshot.running, queued: snapshot.waiting + nameWaits.count,
      failed: tally.unsuccessful,
      bytes: received?.value ?? tally.bytes, seconds: elapsed.inSeconds,
      rows: snapshot.endPoints.filter { $0.isBusy || $0.isStopped }.map { ProgressState.Row($0) })
    // A list that has grown since it was counted has more lines.
    state.total = total.withLock { $0 } ?? expected.withLock { $0 }.map { max($0, tally.done) }
    return (state, tally.requested)
  }

  /// Counts the lines of the lists, to estimate the time left. The run reads them only as fast as it fetches.
  func countLists() {
    guard progress != .none else { return }
    let (paths, format, given) = (options.lists, options.list.format, arguments.count)
    guard !paths.contains("-") else { return }
    ListCount.lane.run { [weak self] in
      var count = given
      for path in paths {
        guard let more = ListCount.of(path, format, while: { self.map { !$0.isStopping } ?? false }) else { return }
        count += more
      }
      self?.expected.withLock { $0 = count }
    }
  }

  /// Signal handlers for the display, for the process itself.
  func progressSignals() -> [InterruptSignals] {
    ProgressDisplay.signals(display, progress, on: report.console) { [weak self] in self?.tellState() }
  }

  /// Shows the state of every end-point, and what its next request waits for.
  func tellState() {
    var (state, _) = progressState()
    state.rows = []
    let stored = backlog.withLock { $0.staged + $0.stored }
    let text = stored > 0 ? "\(Amount.grouped(stored)) URLs wait on disk until their hosts have room\n" : ""
    report.show("headgate: \(state.plain)\n\(nameWaits.description)\(text)\(dispatcher.snapshot())")
  }
}

/// Counts the URLs and bad lines of a list while the run reads it.
enum ListCount {
  /// Not the readers' thread, which must not wait for a count.
  static let lane = SerialLane(on: LaneCrew(name: "headgate-count", size: 1))

  /// Nil if the list is not a regular file or can't be read, or if `isWanted` returns false. Blocks.
  static func of(_ path: String, _ format: ListFormat = .lines, while isWanted: () -> Bool) -> Int? {
    guard let descriptor = try? Descriptor.openForReading(path) else { return nil }
    defer { Descriptor.close(descriptor) }
    guard Descriptor.isRegularFile(descriptor) else { return nil }
    var text = InputText(format.cutter)
    var count = 0
    while isWanted() {
      guard let piece = text.next() ?? (try? Descriptor.read(descriptor, atMost: 64 * 1024)).map({ text.take($0) })
      else { return nil }
      switch piece {
      case .items(let lines): count += lines.count
      case .end: return count
      case .compressed, .broken: return nil
      }
    }
    return nil
  }
}
