import HeadgateDispatch
import HeadgateThreads
import Synchronization

/// One run of `headgate fetch`. Each URL has one outcome.
final class FetchRun: CommandRun {
  /// The most bytes of waiting lines on disk.
  static let mostStored = 1 << 30

  let core: Run
  var options: FetchOptions { core.options }
  /// Limits how many URLs wait for a name look-up.
  let nameRoom = Semaphore(name: "headgate-names", permits: Run.lookahead)
  let nameWaits = NameWaits()
  let outcomes: FetchReport
  let output: OutputWriter
  /// What is fetched before the lists: URLs of the command line, or the session's failures.
  let arguments: [ListLine]
  let lists: [InputReader<NumberedLine>]
  /// Which lines of the lists wait in the queue, and which in the store.
  let backlog = Locked(Backlog())
  let lineStore: LineStore
  let storeHasFailed = Locked(false)
  let hasToldOutOfTime = Locked(false)
  /// The limits of the options. Those in force may change, and reading them takes the gate's lock.
  let configuredLimits: GateLimits
  /// The number of URLs and bad lines from a count of the lists ahead of the run. Nil where it can't be known.
  let expected = Locked(Int?.none)
  private let diskHasFailed = Locked(false)
  /// Bytes received, for the progress. Nil if none is shown.
  let received: ByteCount?
  /// The journal of earlier runs, which this run continues and extends. Nil without `--session`.
  let session: Session?
  /// Assigns the paths of files.
  let paths: FilePaths
  /// Lists and makes folders.
  let folders: SerialLane
  let hasToldOfNumbers = Locked(false)
  /// The number of bodies that are beside an existing file of their name.
  let besideExisting = Locked(0)
  /// For the log and the report. Nil if there is neither.
  let timeline: RunTimeline?
  /// The end-points that --check requests with GET only.
  let headless = HeadlessEndPoints()
  /// Expected checksums of bodies, from `--checksum-file`.
  let checksums: ChecksumTable

  /// Opens everything that the run needs.
  ///
  /// - Throws: ``FetchProblem`` for anything that can't be opened or made. Nothing has been fetched then.
  init(_ options: FetchOptions, streams: Run.Streams = Run.Streams()) throws(FetchProblem) {
    let started = Deadline.now
    try FetchRun.checkSession(options)
    var options = options
    timeline = options.log == nil && options.page == nil ? nil : RunTimeline(began: started)
    try options.readElsewhere(streams.input)
    try FetchRun.checkKey(options)
    let stop: StopSignal
    (stop, lists) = try FetchRun.openLists(options, streams.input)
    try Run.checkTrust(options)
    checksums = try ChecksumTable(files: options.list.checksumFiles)
    if case .folder(let folder) = options.target {
      try FetchRun.makeFolder(folder, syncs: options.session != nil)
    }
    try FetchRun.checkOwnFiles(options.ownFiles, lists)
    session = try FetchRun.openSession(options)
    var others = 0
    var arguments = options.urls.map { ListLine.url($0) }
    if options.retriesAll, let session {
      let failed = session.failedURLs(options.sent)
      (arguments, others) = (failed.entries.map { .entry($0) }, failed.others)
    }
    self.arguments = arguments
    core = try Run(
      options, streams, started: started, stop: stop, printsBodies: !options.target.isFolder, isKept: session != nil,
      timeline: timeline)
    output = OutputWriter(streams.output, on: core.crew, held: HeldSpace(limit: options.maxHeld))
    folders = SerialLane(on: core.crew)
    received = core.progress == .none ? nil : ByteCount()
    configuredLimits = core.dispatcher.limits
    lineStore = LineStore(on: core.crew, bound: min(options.maxHeld, FetchRun.mostStored))
    outcomes = FetchReport(
      report: core.report,
      log: try FetchRun.openLog(
        options.log, streams.output, isContinued: session?.isContinued ?? false, on: core.crew),
      logName: options.log == "-" ? "standard output" : options.log ?? "",
      statuses: options.target == .statuses ? LineWriter(streams.output, on: core.crew) : nil,
      page: try options.page.map { [core] path throws(FetchProblem) in try ReportPage(path, on: core.crew) },
      timeline: timeline,
      limit: FailureLimit(options.maxFailures)
    )
    let keepsParts = session != nil
    let existing = options.existingNames(keepsParts: keepsParts)
    paths = FilePaths(
      in: options.folder, FileNames(taken: options.ownNames, existing: existing), keepsExisting: !options.overwrites,
      keepsParts: keepsParts,
      used: session?.names ?? [])
    outcomes.limit.whenReached { [weak self] in self?.failedEnough() }
    for remark in checksums.remarks { report.remark(remark) }
    if session == nil { remarkOnParts(existing) }
    remarkOnSending(otherFailures: others)
  }

  func close() async {
    if let session {
      // Waits until pending entries are written, for the next run.
      do throws(SystemError) {
        try await session.journal.write("")
      } catch {
        report.fault(.file, "the session \(options.session ?? ""): \(error)")
      }
      session.journal.unlock()
    }
    tellRestOfExisting()
    try? await folders.perform { [paths] () throws(SystemError) in paths.removeEmptyFolders() }
    await outcomes.close()
  }

  /// The limit on failures is reached. Reads no further, finishes running requests, and skips waiting ones.
  private func failedEnough() {
    core.end(atOnce: false)
    // Last, so that nothing starts once it is read.
    report.show(
      "headgate: \(report.tally.unsuccessful) failed, and --max-failures is \(options.maxFailures ?? 0): running requests "
        + "are finished, and the rest is skipped"
        + (session == nil ? "" : "; the same command continues the session"))
  }

  /// The disk accepts no more files. This is reported once, and nothing more is fetched.
  func diskFailed(_ job: FetchJob, _ error: DispatchError) {
    guard !diskHasFailed.exchange(true) else { return outcomes.ended(job, .failed(DispatchError(.shutDown))) }
    let reason = "\(error.detail); nothing more is fetched"
    outcomes.ended(job, .outputFailed(OutputError(place: "the disk", reason: reason, isShared: true)))
    core.end(atOnce: true)
  }
}

/// The bytes of bodies received so far, including those of failures, for the status line.
final class ByteCount: Sendable {
  private let bytes = Atomic(0)

  var value: Int { bytes.load(ordering: .relaxed) }

  func add(_ count: Int) { bytes.wrappingAdd(count, ordering: .relaxed) }

  /// Returns a listener that counts the progress of one download.
  ///
  /// - Parameter size: What an earlier run has received.
  func listener(from size: Int = 0) -> TransferProgress.Listener {
    let told = LockedBox(Int64(size))
    return { [self] progress in
      let more = told.withLock { told in
        defer { told = max(told, progress.bytes) }
        return max(0, progress.bytes - told)
      }
      add(Int(more))
    }
  }
}
