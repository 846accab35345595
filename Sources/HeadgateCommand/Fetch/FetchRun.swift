import HeadgateCurl
import HeadgateDispatch
import HeadgateThreads
import Synchronization

/// One run of `headgate fetch`. The report receives the outcome of each URL.
final class FetchRun: Sendable {
  /// Where the run reads and writes.
  struct Streams: Sendable {
    var input: Int32 = 0
    var output: Int32 = 1
    var messages: Int32 = 2
  }

  /// How far the run has been stopped.
  enum Stop { case no, reading, atOnce }

  /// The least capacity of the dispatcher's queue, in URLs.
  static let lookahead = 4096
  /// The most bytes of waiting lines on disk.
  static let mostStored = 1 << 30

  let options: FetchOptions
  let dispatcher: URLDispatcher
  /// The dispatcher's transport.
  let transport: CurlTransport
  /// Limits how many URLs wait for a name look-up.
  let nameRoom = Semaphore(name: "headgate-names", permits: FetchRun.lookahead)
  let nameWaits = NameWaits()
  let report: Report
  let outcomes: FetchReport
  let output: OutputWriter
  let pending = PendingCount()
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
  private let stopSignal: StopSignal
  private let started: Deadline
  private let stop = Locked(Stop.no)
  /// The number of URLs and bad lines, once it is known.
  let total = Locked(Int?.none)
  /// The same number from a count of the lists ahead of the run. Nil where it can't be known.
  let expected = Locked(Int?.none)
  private let diskHasFailed = Locked(false)
  private let hasFailedEnough = Locked(false)
  /// How progress is shown. Never `auto`.
  let progress: ProgressMode
  /// Bytes received, for the progress. Nil if none is shown.
  let received: ByteCount?
  /// The journal of earlier runs, which this run continues and extends. Nil without `--session`.
  let session: Session?
  /// For requests of a session that must not be sent twice. Each is noted in the journal before it is sent. If the run
  /// is killed, the outcome of a noted request is unknown, so requests are held back here until they can be sent soon.
  let turns: SendingTurns
  /// Assigns the paths of files.
  let paths: FilePaths
  /// Lists and makes folders.
  let folders: SerialLane
  let hasToldOfNumbers = Locked(false)
  /// For the log and the report. Nil if there is neither.
  let timeline: RunTimeline?
  private let cookies: CookieJar?
  let spread: SpreadCredentials
  let messages: Int32
  /// Shows the progress. Nil if none is shown.
  let display: ProgressDisplay?
  /// The end-points that --check requests with GET only.
  let headless = HeadlessEndPoints()
  /// Expected checksums of bodies, from `--checksum-file`.
  let checksums: ChecksumTable
  let remarks = ListRemarks()
  /// Nil if the spacing of starts applies to this machine too.
  let spared: SparedEndPoints?

  /// Opens everything that the run needs.
  ///
  /// - Throws: ``FetchProblem`` for anything that can't be opened or made. Nothing has been fetched then.
  init(_ options: FetchOptions, streams: Streams = Streams()) throws(FetchProblem) {
    try FetchRun.checkSession(options)
    var options = options
    started = Deadline.now
    timeline = options.log == nil && options.page == nil ? nil : RunTimeline(began: started)
    try options.readElsewhere(streams.input)
    try FetchRun.checkKey(options)
    messages = streams.messages
    let crew = LaneCrew(name: "headgate-output", size: 4)
    output = OutputWriter(streams.output, on: crew, held: HeldSpace(limit: options.maxHeld))
    (stopSignal, lists) = try FetchRun.openLists(options.lists, options.list.format, streams.input)
    try FetchRun.checkTrust(options)
    checksums = try ChecksumTable(files: options.list.checksumFiles)
    if case .folder(let folder) = options.target {
      try FetchRun.makeFolder(folder, syncs: options.session != nil)
    }
    try FetchRun.checkOwnFiles(options.ownFiles, lists)
    session = try FetchRun.openSession(options)
    folders = SerialLane(on: crew)
    var others = 0
    var arguments = options.urls.map { ListLine.url($0) }
    if options.retriesAll, let session {
      let failed = session.failedURLs(options.sent)
      (arguments, others) = (failed.entries.map { .entry($0) }, failed.others)
    }
    self.arguments = arguments
    self.options = options
    spread = SpreadCredentials(options.fieldsForAll, options.hostFields)
    progress = options.progress.resolved(
      for: ProgressMode.Stream(
        isTerminal: Descriptor.isTerminal(messages), terminal: Descriptor.environment("TERM"),
        hasBodies: !options.target.isFolder && Descriptor.isTerminal(streams.output),
        isQuiet: options.verbosity == .quiet))
    let shown = options.progressDescriptor.map { LineWriter($0, on: crew) }
    let console = LineWriter(messages, on: crew, isJSON: progress == .json && shown == nil)
    cookies = try FetchRun.makeJar(options)
    received = progress == .none ? nil : ByteCount()
    transport = try FetchRun.makeTransport(options, cookies)
    dispatcher = try FetchRun.makeDispatcher(
      options, over: transport, timeline, ConsoleLog.logger(console, progress, isQuiet: options.verbosity == .quiet))
    spared = options.sparesLoopback ? SparedEndPoints(of: dispatcher) : nil
    turns = SendingTurns(dispatcher)
    configuredLimits = dispatcher.limits
    lineStore = LineStore(on: crew, bound: min(options.maxHeld, FetchRun.mostStored))
    report = Report(console, options.verbosity)
    outcomes = FetchReport(
      report,
      log: try FetchRun.openLog(
        options.log, streams.output, isContinued: session?.isContinued ?? false, on: crew),
      logName: options.log == "-" ? "standard output" : options.log ?? "",
      statuses: options.target == .statuses ? LineWriter(streams.output, on: crew) : nil,
      page: try options.page.map { path throws(FetchProblem) in try ReportPage(path, on: crew) },
      timeline: timeline,
      limit: FailureLimit(options.maxFailures)
    )
    let keepsParts = session != nil
    let existing = options.takenNames(keepsParts: keepsParts)
    paths = FilePaths(
      in: options.folder, FileNames(taken: existing), keepsExisting: !options.overwrites, keepsParts: keepsParts,
      used: session?.names ?? [])
    display = progress == .none ? nil : ProgressDisplay(progress, on: shown ?? console, messages)
    display?.observe(self)
    if let file = options.passwordFile, Descriptor.othersMayRead(file) {
      report.remark("other users can read the passwords in \(file); use chmod 600 to prevent that")
    }
    for remark in checksums.remarks { report.remark(remark) }
    if session == nil { remarkOnParts(existing) }
    remarkOnSending(otherFailures: others)
  }

  /// Fetches everything. Returns the exit status after all output is written.
  func run() async -> ExitStatus {
    display?.start()
    countLists()
    outcomes.limit.whenReached { [weak self] in self?.failedEnough() }
    let timer = options.deadline.map { deadline in
      TimerThread.shared.schedule(at: started + deadline) { [stopSignal, transport] in
        stopSignal.raise()
        // The deadlines of the waiting URLs have passed.
        transport.stopWaitingForNames()
      }
    }
    let all = await readAll()
    total.withLock { $0 = all }
    await pending.empty()
    display?.stop()
    timer?.cancel()
    await Self.shutDown(dispatcher)
    if let session {
      // Waits until pending entries are written, for the next run.
      do throws(SystemError) {
        try await session.journal.write("")
      } catch {
        report.fault(.file, "the session \(options.session ?? ""): \(error)")
      }
      session.journal.unlock()
    }
    try? await folders.perform { [paths] () throws(SystemError) in paths.removeEmptyFolders() }
    FetchRun.save(cookies, learnedBy: dispatcher.gate, options, fault: report.fault)
    if let failure = await display?.flush() { report.fault(.file, "the progress can't be written: \(failure)") }
    await outcomes.close()
    return await report.finish { $0.summary(seconds: elapsed.inSeconds, peak: dispatcher.gate.counts.peak) }
  }

  /// The first call stops reading, lets running requests finish and skips what waits. The second call ends everything
  /// at once.
  @discardableResult
  func interrupt() -> Stop {
    let stop = stop.withLock { stop in
      stop = stop == .no ? .reading : .atOnce
      return stop
    }
    report.count { $0.isInterrupted = true }
    stopReading()
    if stop == .reading {
      // The run does not end before the remark is written, although what it waits for may.
      pending.enter()
      defer { pending.leave() }
      dispatcher.beginShutDown(.graceful)
      // Afterwards, so that nothing starts once it is read.
      report.remark(
        InterruptText.of(dispatcher.snapshot().endPoints.map { ($0.endPoint.description, $0.running) })
          + (session == nil ? "" : "; the same command continues this run"))
    } else {
      dispatcher.dispose()
    }
    // Last, since requests that waited for a name must not start.
    transport.stopWaitingForNames()
    return stop
  }

  /// The limit on failures is reached. Reads no further, finishes running requests, and skips waiting ones.
  private func failedEnough() {
    hasFailedEnough.withLock { $0 = true }
    stopReading()
    dispatcher.beginShutDown(.graceful)
    transport.stopWaitingForNames()
    // Last, so that nothing starts once it is read.
    report.show(
      "headgate: \(report.tally.unsuccessful) failed, and --max-failures is \(options.maxFailures ?? 0): running requests are "
        + "finished, and the rest is skipped" + (session == nil ? "" : "; the same command continues the session"))
  }

  /// The disk accepts no more files. This is reported once, and nothing more is fetched.
  func diskFailed(_ job: FetchJob, _ error: DispatchError) {
    let isFirst = diskHasFailed.withLock { hasFailed in
      defer { hasFailed = true }
      return !hasFailed
    }
    guard isFirst else { return outcomes.ended(job, .failed(DispatchError(.shutDown))) }
    let reason = "\(error.detail); nothing more is fetched"
    outcomes.ended(job, .outputFailed(OutputError(place: "the disk", reason: reason, isShared: true)))
    outputBroke()
  }

  /// The output accepts no more, so nothing more is fetched.
  func outputBroke() {
    stopReading()
    dispatcher.dispose()
    transport.stopWaitingForNames()
  }

  /// Reads no further, and tries no mirrors.
  private func stopReading() { stopSignal.raise() }

  // MARK: The state

  var isStopping: Bool { stopSignal.isRaised }

  /// Whether the run was interrupted twice.
  var isEndingAtOnce: Bool { stop.withLock { $0 == .atOnce } }

  /// The rest of the run's time. Nil without a deadline.
  var timeLeft: Duration? { options.deadline.map { $0 - elapsed } }

  /// Whether the deadline, and not an interrupt or a limit on failures, ended the run.
  var isOutOfTime: Bool {
    (timeLeft ?? .seconds(1)) <= .zero && stop.withLock { $0 == .no } && !hasFailedEnough.withLock { $0 }
  }

  var elapsed: Duration { Deadline.now - started }
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
