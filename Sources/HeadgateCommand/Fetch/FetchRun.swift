import HeadgateCurl
import HeadgateDispatch
import HeadgateThreads

/// One run of `headgate fetch`: the list goes in as fast as it is worked off, and each URL ends in the report.
final class FetchRun: Sendable {
  /// Where the run reads and writes.
  struct Streams: Sendable {
    var input: Int32 = 0
    var output: Int32 = 1
    var messages: Int32 = 2
  }

  /// How far the run was told to stop.
  enum Stop { case no, reading, atOnce }

  /// How many URLs are looked at before those in front of them have a permit: enough that a slow end-point does not
  /// keep the others from their work.
  static let lookahead = 4096

  let options: FetchOptions
  let dispatcher: URLDispatcher
  let report: FetchReport
  let output: OutputWriter
  let pending = PendingCount()
  let lists: [ListReader]
  private let stopSignal: StopSignal
  private let started: Deadline
  private let stop = Locked(Stop.no)
  /// How many URLs and bad lines there are, once that is known.
  private let total = Locked(Int?.none)
  private let diskHasFailed = Locked(false)
  private let showsStatus: Bool
  /// For the status line; nil where there is none.
  let received: ByteCount?
  /// What this run goes on with, and another one may; nil where nobody asked for it.
  let session: Session?
  /// The names that files get.
  let names: FileNames
  /// For the log and the page; nil where there is neither.
  let timeline: RunTimeline?
  private let cookies: CookieJar?
  private let messages: Int32
  /// End-points of this machine itself that were met.
  let spared = Locked(Set<EndPoint>())

  /// Opens all that the run needs.
  ///
  /// - Throws: ``FetchProblem`` for what could not be opened or made; nothing was fetched then.
  init(_ options: FetchOptions, streams: Streams = Streams()) throws(FetchProblem) {
    var options = options
    started = Deadline.now
    timeline = options.log == nil && options.page == nil ? nil : RunTimeline(began: started)
    try options.readSecrets()
    messages = streams.messages
    let crew = LaneCrew(name: "headgate-output", size: 4)
    output = OutputWriter(streams.output, on: crew, held: HeldSpace(limit: options.maxHeld))
    (stopSignal, lists) = try FetchRun.openLists(options.lists, streams.input)
    try FetchRun.checkTrust(options)
    var existing: [String] = []
    if case .folder(let folder) = options.target {
      try FetchRun.makeFolder(folder)
      if !options.overwrites { existing = Descriptor.names(in: folder) }
    }
    session = try FetchRun.openSession(options)
    existing += session?.names ?? []
    names = FileNames(taken: existing)
    if options.retryFailed, options.urls.isEmpty, options.lists.isEmpty {
      options.urls = session?.failedURLs ?? []
    }
    self.options = options
    // Bodies and a status line on one terminal would spoil each other.
    let mixesWithBodies = options.target == .output && Descriptor.isTerminal(streams.output)
    showsStatus = options.verbosity != .quiet && Descriptor.isTerminal(messages) && !mixesWithBodies
    cookies = try FetchRun.makeJar(options)
    received = showsStatus ? ByteCount() : nil
    dispatcher = try FetchRun.makeDispatcher(options, cookies, timeline)
    report = FetchReport(
      console: LineWriter(messages, on: crew),
      log: try FetchRun.openLog(options.log, streams.output, on: crew),
      logName: options.log == "-" ? "standard output" : options.log ?? "",
      page: try options.page.map { path throws(FetchProblem) in try ReportPage(path, on: crew) },
      timeline: timeline,
      verbosity: options.verbosity
    )
    if let file = options.passwordFile, Descriptor.othersMayRead(file) {
      report.remark("others may read the passwords in \(file); chmod 600 keeps them to you")
    }
  }

  /// Fetches everything and returns the exit status, once all is written.
  func run() async -> ExitStatus {
    let ticker = showsStatus ? StatusTicker(console: report.console) { [weak self] in self?.status() ?? "" } : nil
    let timer = options.deadline.map { deadline in
      TimerThread.shared.schedule(at: started + deadline) { [stopSignal] in stopSignal.raise() }
    }
    let all = await readAll()
    total.withLock { $0 = all }
    await pending.empty()
    ticker?.stop()
    timer?.cancel()
    await dispatcher.shutDown(.drain)
    if let session {
      // What waits to be written there is to be there for the next run.
      do throws(SystemError) {
        try await session.journal.write("")
      } catch {
        report.fault(.file, "the session \(options.session ?? ""): \(error)")
      }
    }
    if let file = options.connection?.cookieJar, let cookies {
      do throws(DispatchError) { try cookies.save(to: file) } catch { report.fault(.file, error.detail) }
    }
    if let file = options.adaptiveFile {
      // Hosts that this run did not ask are kept as they were.
      var learned = dispatcher.gate.limits.adaptive?.remembered ?? LearnedLimits()
      learned.merge(dispatcher.gate.learned)
      do throws(FetchProblem) { try LearnedFile.write(learned, to: file) } catch {
        report.fault(.file, error.description)
      }
    }
    return await report.finish(seconds: elapsed.inSeconds, peak: dispatcher.gate.counts.peak)
  }

  /// The first time: reads no further, lets finish what runs, skips what waits. The second time: ends all at once.
  @discardableResult
  func interrupt() -> Stop {
    let stop = stop.withLock { stop in
      stop = stop == .no ? .reading : .atOnce
      return stop
    }
    report.interrupted()
    stopSignal.raise()
    if stop == .reading {
      report.remark(
        InterruptText.of(dispatcher.snapshot().endPoints.map { ($0.endPoint.description, $0.running) })
          + (session == nil ? "" : "; the same command goes on where this one ends"))
      dispatcher.beginShutDown(.graceful)
    } else {
      dispatcher.dispose()
    }
    return stop
  }

  /// The disk takes no more files: said once, and nothing that is still to come is fetched.
  func diskFailed(_ job: FetchJob, _ error: DispatchError) {
    let isFirst = diskHasFailed.withLock { hasFailed in
      defer { hasFailed = true }
      return !hasFailed
    }
    guard isFirst else { return report.ended(job, .failed(DispatchError(.shutDown))) }
    let reason = "\(error.detail); nothing more is fetched"
    report.ended(job, .outputFailed(OutputError(place: "the disk", reason: reason, isShared: true)))
    outputBroke()
  }

  /// The output takes no more: nothing that is still to come can be used.
  func outputBroke() {
    stopSignal.raise()
    dispatcher.dispose()
  }

  // MARK: The state

  var isStopping: Bool { stopSignal.isRaised }

  /// Whether it was interrupted twice.
  var isEndingAtOnce: Bool { stop.withLock { $0 == .atOnce } }

  /// What is left of the whole run's time; nil without a limit.
  var timeLeft: Duration? { options.deadline.map { $0 - elapsed } }

  /// Whether the end was brought on by the deadline and by nobody else.
  var isOutOfTime: Bool { (timeLeft ?? .seconds(1)) <= .zero && stop.withLock { $0 == .no } }

  private var elapsed: Duration { Deadline.now - started }

  private func status() -> String {
    let tally = report.tally
    let counts = dispatcher.gate.counts
    var line = ProgressLine(
      done: tally.done,
      running: counts.running,
      waiting: counts.waiting,
      failed: tally.failed,
      bytes: received?.value ?? tally.bytes,
      seconds: elapsed.inSeconds
    )
    if let total = total.withLock({ $0 }) { line.total = total }
    return line.text(columns: Descriptor.columns(messages) ?? 80)
  }
}
