import HeadgateDispatch
import HeadgateThreads

// How lines of a list reach the dispatcher. Lines of hosts with enough lines in the queue wait on disk. This applies
// only if bodies go to files. On standard output they follow the order of the list, and `Turns` bounds how far the list
// is read ahead.

/// The lines of a piece of a list, by where they wait.
struct PlacedLines {
  /// For the queue, in the order of the list.
  var queued: [FetchJob] = []
  /// For the disk.
  var staged: [EndPoint: LineStore.Batch] = [:]
}

extension FetchRun {
  /// How many lines of an end-point the queue may hold: few enough that the queue has room for as many end-points as
  /// the total limit can run, and enough that none runs dry while further lines are read from disk.
  func mostQueued(at endPoint: EndPoint) -> Int {
    let groups = options.groups.groups(of: endPoint).compactMap(\.limits.requests)
    return 4 * (groups + [configuredLimits.of(endPoint).requests, options.total]).reduce(.max, min)
  }

  /// Decides where a URL waits. Names of files are assigned here, where URLs arrive in the order of the list.
  func place(_ job: FetchJob, _ lines: inout PlacedLines) async {
    var job = job
    if let session {
      guard let planned = await plan(job, session) else { return }
      job = planned
    } else if options.target.isFolder {
      job.name = await name(job)
    }
    job = withChecksum(job)
    let endPoint = job.request.endPoint
    pending.enter()
    if backlog.withLock({ $0.admit(to: endPoint, most: { mostQueued(at: endPoint) }) }) {
      lines.queued.append(job)
    } else {
      let line = StoredLine(
        url: job.url, name: job.name ?? "", index: job.index, line: job.line, checksum: job.checksum,
        mirrors: job.mirrors)
      lines.staged[endPoint, default: LineStore.Batch(endPoint: endPoint)].add(line)
    }
  }

  /// Queues and stores the lines. Returns when all are in place.
  func submit(_ lines: PlacedLines) async {
    let batches = Array(lines.staged.values)
    // The disk comes first, since the queue may be full for a while.
    let isStored = batches.isEmpty ? true : await store(batches)
    for job in lines.queued { await submit(job) }
    guard !isStored else { return }
    for batch in batches {
      for line in StoredLine.decode(batch.bytes, atMost: batch.count).lines { await submit(line, of: batch.endPoint) }
    }
  }

  /// Returns whether the lines have been stored. If not, the caller submits them.
  private func store(_ batches: [LineStore.Batch]) async -> Bool {
    do throws(LineStore.Refusal) {
      try await lineStore.append(batches)
    } catch {
      if case .disk(let error) = error, !storeHasFailed.exchange(true) {
        report.remark(
          "lines of the list can't be stored in a temporary file: \(error); the list is read only as fast as the "
            + "queue has room, and a list sorted by host may take longer. Set TMPDIR to use another folder.")
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

  /// A URL that was queued has ended.
  func ended(_ job: FetchJob) { ended(at: job.place ?? job.request.endPoint) }

  private func ended(at endPoint: EndPoint) {
    // The timer that stops the run at its deadline may be late.
    if isStopping || isOutOfTime { abandonStored() }
    act(on: backlog.withLock { $0.ended(at: endPoint) })
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
      report.fault(.file, "lines of the list can't be read from the temporary file: \(error)")
    }
    for line in lines { await submit(line, of: recall.endPoint) }
    let missing = recall.count - lines.count
    var lost = 0
    if missing > 0 {
      await lineStore.forget(recall.endPoint)
      lost = missing + backlog.withLock { $0.abandon(recall.endPoint) }
      report.fault(.file, "\(lost) lines of the list for \(recall.endPoint) are lost and were not fetched")
    }
    act(on: backlog.withLock { $0.recallEnded(recall.endPoint, missing: missing) })
    skip(lost)
  }

  private func submit(_ line: StoredLine, of endPoint: EndPoint) async {
    do throws(DispatchError) {
      let request = try request(line.url)
      var job = FetchJob(url: line.url, request: request, index: line.index, line: line.line, name: line.name)
      (job.checksum, job.mirrors) = (line.checksum, line.mirrors)
      await submit(job)
    } catch {
      // This can't happen: the URL was valid when it was stored.
      outcomes.badLine(BadURL.message(line.url, error.detail), line.url, at: "list")
      ended(at: endPoint)
    }
  }

  /// Counts the lines on disk as skipped when the run stops, without reading them.
  private func abandonStored() {
    let count = backlog.withLock { $0.abandonAll() }
    guard count > 0 else { return }
    if isOutOfTime { tellOutOfTime() }
    skip(count)
  }

  private func skip(_ count: Int) {
    guard count > 0 else { return }
    report.skipped(count)
    pending.leave(count)
  }

  /// Reports once that the deadline passed before the end of the list.
  func tellOutOfTime() {
    guard !hasToldOutOfTime.exchange(true) else { return }
    report.fault(.time, "the deadline passed before the end of the list; the remaining lines were not fetched")
  }
}

extension Locked<Bool> {
  /// Replaces the value and returns the old one.
  func exchange(_ value: Bool) -> Bool {
    withLock { state in
      defer { state = value }
      return state
    }
  }
}
