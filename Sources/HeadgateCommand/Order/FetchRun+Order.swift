import HeadgateDispatch
import HeadgateThreads

// How the lines of a list reach the dispatcher: those of hosts that have enough in the queue wait on the disk. Only where
// bodies go to files: on the standard output they have the order of the list, and `Turns` holds back what is ahead.

/// What was decided about a piece of a list.
struct PlacedLines {
  /// For the queue, in the order of the list.
  var queued: [FetchJob] = []
  /// For the disk.
  var staged: [EndPoint: LineStore.Batch] = [:]
}

extension FetchRun {
  /// How many lines an end-point may have in the queue: few enough that the queue has room for as many end-points as the
  /// total limit lets run, and enough that none runs dry while further lines are read from the disk.
  func mostQueued(at endPoint: EndPoint) -> Int { 4 * min(configuredLimits.of(endPoint).requests, options.total) }

  /// Decides where a URL waits. Its name is claimed here, where URLs come in the order of the list.
  func place(_ job: FetchJob, _ lines: inout PlacedLines) async {
    var job = job
    if let session {
      guard let planned = await plan(job, session) else { return }
      job = planned
    } else if options.target.isFolder {
      job.name = names.claim(FileName.of(job.request.url))
    }
    let endPoint = job.request.endPoint
    pending.enter()
    if backlog.withLock({ $0.admit(to: endPoint, most: { mostQueued(at: endPoint) }) }) {
      lines.queued.append(job)
    } else {
      let line = StoredLine(url: job.url, name: job.name ?? "", index: job.index)
      lines.staged[endPoint, default: LineStore.Batch(endPoint: endPoint)].add(line)
    }
  }

  /// Does what was decided. Returns when each of the lines has its place.
  func submit(_ lines: PlacedLines) async {
    let batches = Array(lines.staged.values)
    // To the disk first: the queue may have no room for a while.
    let isStored = batches.isEmpty ? true : await store(batches)
    for job in lines.queued { await submit(job) }
    guard !isStored else { return }
    for batch in batches {
      for line in StoredLine.decode(batch.bytes, atMost: batch.count).lines { await submit(line, of: batch.endPoint) }
    }
  }

  /// Whether the lines are on the disk now. If not, they are to be submitted.
  private func store(_ batches: [LineStore.Batch]) async -> Bool {
    do throws(LineStore.Refusal) {
      try await lineStore.append(batches)
    } catch {
      if case .disk(let error) = error, !storeHasFailed.exchange(true) {
        report.remark(
          "a temporary file for lines of the list: \(error); it is read no further than the queue has room, and a list "
            + "that is sorted by host may take longer. TMPDIR names another folder.")
      }
      backlog.withLock { backlog in
        for batch in batches { backlog.refused(batch.count, at: batch.endPoint) }
      }
      return false
    }
    for batch in batches { act(on: backlog.withLock { $0.stored(batch.count, at: batch.endPoint) }) }
    if isStopping { abandonStored() }
    return true
  }

  /// A URL that had its place has ended.
  func ended(_ job: FetchJob) { ended(at: job.request.endPoint) }

  private func ended(at endPoint: EndPoint) {
    act(on: backlog.withLock { $0.ended(at: endPoint) })
    if isStopping { abandonStored() }
    pending.leave()
  }

  private func act(on recall: Backlog.Recall?) {
    guard let recall else { return }
    Task { await bringBack(recall) }
  }

  private func bringBack(_ recall: Backlog.Recall) async {
    var lines: [StoredLine] = []
    do throws(SystemError) {
      lines = try await lineStore.take(recall.count, of: recall.endPoint)
    } catch {
      report.fault(.file, "a temporary file for lines of the list: \(error)")
    }
    for line in lines { await submit(line, of: recall.endPoint) }
    let missing = recall.count - lines.count
    var lost = 0
    if missing > 0 {
      await lineStore.forget(recall.endPoint)
      lost = missing + backlog.withLock { $0.abandon(recall.endPoint) }
      report.fault(.file, "\(lost) lines of the list for \(recall.endPoint) can't be read back, and are not fetched")
    }
    act(on: backlog.withLock { $0.recallEnded(recall.endPoint, missing: missing) })
    skip(lost)
  }

  private func submit(_ line: StoredLine, of endPoint: EndPoint) async {
    do throws(DispatchError) {
      let request = try request(line.url)
      await submit(FetchJob(url: line.url, request: request, index: line.index, name: line.name))
    } catch {
      // It was a request before it was stored.
      report.badLine(BadURL.message(line.url, error.detail), line.url, at: "list")
      ended(at: endPoint)
    }
  }

  /// The run is to stop: what waits on the disk is counted, and not read.
  private func abandonStored() {
    let count = backlog.withLock { $0.abandonAll() }
    guard count > 0 else { return }
    if isOutOfTime { tellOutOfTime() }
    skip(count)
  }

  private func skip(_ count: Int) {
    guard count > 0 else { return }
    report.skippedUnread(count)
    pending.leave(count)
  }

  /// Says once that the deadline came before the end of the list.
  func tellOutOfTime() {
    guard !hasToldOutOfTime.exchange(true) else { return }
    report.fault(.time, "the deadline passed before the list was read to its end; what follows was not fetched")
  }
}

extension Locked<Bool> {
  /// Puts a value in the place of another one, and returns that.
  func exchange(_ value: Bool) -> Bool {
    withLock { state in
      defer { state = value }
      return state
    }
  }
}
