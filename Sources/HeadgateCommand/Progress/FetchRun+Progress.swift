import HeadgateDispatch
import HeadgateThreads

extension FetchRun {
  var progressState: ProgressState {
    var state = core.progressState
    state.queued += nameWaits.count
    if let received { state.bytes = received.value }
    // A list that has grown since it was counted has more lines.
    state.total = state.total ?? expected.withLock { $0 }.map { max($0, state.done) }
    return state
  }

  var emptyRemark: String { options.retriesAll ? "the session has no failed URLs" : "the list has no URLs" }

  /// The names that are looked up, and what waits on disk.
  var waits: String {
    let stored = backlog.withLock { $0.staged + $0.stored }
    return nameWaits.description
      + (stored > 0 ? "\(Amount.grouped(stored)) URLs wait on disk until their hosts have room\n" : "")
  }

  /// Counts the lines of the lists, to estimate the time left. The run reads them only as fast as it fetches.
  func countLists() {
    guard core.progress != .none else { return }
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
