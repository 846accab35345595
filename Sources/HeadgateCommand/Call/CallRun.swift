import HeadgateCurl
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// One run of `headgate call`: reads rows as fast as they are processed, and writes a result for each.
final class CallRun: Sendable {
  /// How far the run was asked to stop.
  private enum Stop { case no, reading, atOnce }

  /// The maximum number of rows in progress, so that a slow host does not delay the others. A row longer than ``share``
  /// counts as several, so that long rows don't fill the memory.
  static let window = 1024
  private static let share = 64 * 1024

  /// The number of places that a row of a given size takes.
  static func places(_ size: Int) -> Int { min(window, max(1, size / share)) }

  let options: CallOptions
  let dispatcher: URLDispatcher
  let report: Report
  let outcomes: CallReport
  let journal: CallJournal
  let lists: [InputReader<RawRow>]
  let pending = PendingCount()
  let room = Semaphore(name: "headgate-call", permits: CallRun.window)
  /// Rows that must not be sent twice are recorded in the journal before they are sent, and wait here until they can be
  /// sent soon: the outcome of a recorded row is unknown if the run is killed.
  let turns: SendingTurns
  let spared: SparedEndPoints?
  let stopSignal: StopSignal
  private let started = Deadline.now
  private let stop = Locked(Stop.no)
  private let total = Locked(Int?.none)
  private let hasBroken = Locked(false)
  /// The number of rows for which no time was left.
  let late = Locked(0)
  private let cookies: CookieJar?
  let spread: SpreadCredentials
  /// How progress is shown; never `auto`.
  let progress: ProgressMode
  /// The progress display. Nil if progress is not shown.
  let display: ProgressDisplay?

  /// Opens everything that the run needs.
  ///
  /// - Throws: ``FetchProblem`` if something could not be opened or created. Nothing was sent then.
  init(_ options: CallOptions, streams: FetchRun.Streams = FetchRun.Streams()) throws(FetchProblem) {
    var options = options
    try options.requests.readElsewhere(streams.input)
    if options.template.key == nil {
      try FetchRun.checkKey(options.requests, "give --idempotency-key auto, or a text with {field}")
    }
    self.options = options
    (stopSignal, lists) = try CallRun.openLists(options, streams.input)
    try FetchRun.checkTrust(options.requests)
    cookies = try FetchRun.makeJar(options.requests)
    let verbosity = options.requests.verbosity
    progress = options.requests.progress.resolved(
      for: ProgressMode.Stream(
        isTerminal: Descriptor.isTerminal(streams.messages), terminal: Descriptor.environment("TERM"),
        hasBodies: options.results == nil && Descriptor.isTerminal(streams.output), isQuiet: verbosity == .quiet))
    let crew = LaneCrew(name: "headgate-output", size: 4)
    let shown = options.requests.progressDescriptor.map { LineWriter($0, on: crew) }
    let console = LineWriter(streams.messages, on: crew, isJSON: progress == .json && shown == nil)
    dispatcher = try FetchRun.makeDispatcher(
      options.requests, over: try FetchRun.makeTransport(options.requests, cookies), nil,
      ConsoleLog.logger(console, progress, isQuiet: verbosity == .quiet))
    spared = options.requests.sparesLoopback ? SparedEndPoints(of: dispatcher) : nil
    turns = SendingTurns(dispatcher)
    journal = try CallJournal(
      session: options.session, results: options.results, output: streams.output, requests: options.requestsDigest,
      on: crew)
    report = Report(console, verbosity)
    outcomes = CallReport(report)
    spread = SpreadCredentials(options.requests.fieldsForAll, options.requests.hostFields)
    display = progress == .none ? nil : ProgressDisplay(progress, on: shown ?? console, streams.messages)
    display?.observe { [weak self] in self?.progressState() ?? (ProgressState(), 0) }
    if let file = options.requests.passwordFile, Descriptor.othersMayRead(file) {
      report.remark("other users can read the passwords in \(file); use chmod 600 to prevent that")
    }
  }

  private static func openLists(
    _ options: CallOptions, _ input: Int32
  ) throws(FetchProblem) -> (StopSignal, [InputReader<RawRow>]) {
    let stop: StopSignal
    do throws(SystemError) { stop = try StopSignal() } catch { throw FetchProblem("\(error)") }
    var lists: [InputReader<RawRow>] = []
    for path in options.lists {
      do throws(SystemError) {
        let isCSV = options.isCSV || [".csv", ".csv.gz"].contains { path.lowercased().hasSuffix($0) }
        let cutter: any InputCutter<RawRow> = isCSV ? CSVCutter() : NDJSONCutter()
        lists.append(try InputReader(path, standardInput: input, cutter: cutter, stop: stop))
      } catch {
        throw InputProblem.of("rows", path, error)
      }
    }
    try FetchRun.checkOwnFiles(options.ownFiles, lists)
    return (stop, lists)
  }

  /// Sends everything. Returns the exit status when everything is written.
  func run() async -> ExitStatus {
    display?.start()
    let timer = options.requests.deadline.map { deadline in
      TimerThread.shared.schedule(at: started + deadline) { [stopSignal] in stopSignal.raise() }
    }
    let all = await readAll()
    total.withLock { $0 = all }
    await pending.empty()
    display?.stop()
    timer?.cancel()
    let late = late.withLock { $0 }
    if late > 0 {
      report.fault(.time, "the deadline passed before \(late) \(late == 1 ? "row was" : "rows were") sent")
    }
    await FetchRun.shutDown(dispatcher)
    // An error of the journal was reported when it occurred.
    try? await journal.finish()
    FetchRun.save(cookies, learnedBy: dispatcher.gate, options.requests, fault: report.fault)
    if let failure = await display?.flush() { report.fault(.file, "the progress can't be written: \(failure)") }
    return await report.finish {
      $0.summary(seconds: (Deadline.now - started).inSeconds, peak: dispatcher.gate.counts.peak)
    }
  }

  // MARK: The end

  /// Interrupts the run, and ends the process if the run can't end. For use in the process itself.
  func interrupted() {
    guard interrupt() else { return }
    _ = TimerThread.shared.schedule(at: .after(FetchRun.patience)) { _exit(ExitStatus.interrupted.rawValue) }
  }

  /// The first call stops reading, lets running requests finish, and skips waiting ones. The second call ends
  /// everything at once, and returns true.
  @discardableResult
  func interrupt() -> Bool {
    let isSecond = stop.withLock { stop in
      defer { stop = stop == .no ? .reading : .atOnce }
      return stop != .no
    }
    report.count { $0.isInterrupted = true }
    stopSignal.raise()
    guard !isSecond else {
      dispatcher.dispose()
      return true
    }
    // The run does not end before the remark is written, although what it waits for may.
    pending.enter()
    defer { pending.leave() }
    dispatcher.beginShutDown(.graceful)
    // Afterwards, so that nothing starts once it is read.
    let running = dispatcher.snapshot().endPoints.map { ($0.endPoint.description, $0.running) }
    report.remark(InterruptText.of(running) + (journal.isKept ? "; the same command continues this run" : ""))
    return false
  }

  /// The results or the journal can't be written. Reported once; nothing more is sent.
  func broke(_ error: SystemError) {
    let isFirst = hasBroken.withLock { hasBroken in
      defer { hasBroken = true }
      return !hasBroken
    }
    guard isFirst else { return }
    let place =
      journal.results.failure == nil ? "the session \(options.session ?? "")" : options.results ?? "standard output"
    report.fault(.file, "\(place): \(error); nothing more is sent")
    stopSignal.raise()
    dispatcher.beginShutDown(.graceful)
  }

  // MARK: The state

  var isStopping: Bool { stopSignal.isRaised }

  /// Whether it was interrupted twice.
  var isEndingAtOnce: Bool { stop.withLock { $0 == .atOnce } }

  /// The time left of the whole run. Nil without a limit.
  var timeLeft: Duration? { options.requests.deadline.map { $0 - (Deadline.now - started) } }

  /// Whether the deadline ended the run.
  var isOutOfTime: Bool { (timeLeft ?? .seconds(1)) <= .zero && stop.withLock { $0 == .no } }

  // MARK: Progress

  private func progressState() -> (state: ProgressState, ended: Int) {
    let tally = report.tally
    let snapshot = dispatcher.snapshot()
    var state = ProgressState(
      done: tally.done, running: snapshot.running, queued: snapshot.waiting, failed: tally.unsuccessful,
      bytes: tally.bytes, seconds: (Deadline.now - started).inSeconds,
      rows: snapshot.endPoints.filter { $0.isBusy || $0.isStopped }.map { ProgressState.Row($0) })
    state.total = total.withLock { $0 }
    return (state, tally.requested)
  }

  /// The signals for progress, for use in the process itself.
  func progressSignals() -> [InterruptSignals] {
    ProgressDisplay.signals(display, progress, on: report.console) { [weak self] in
      guard let self else { return }
      var (state, _) = progressState()
      state.rows = []
      report.show("headgate: \(state.plain)\n\(dispatcher.snapshot())")
    }
  }
}
