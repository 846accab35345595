import HeadgateCurl
import HeadgateDispatch
import HeadgateThreads

/// What a run of `headgate fetch` and one of `headgate call` have in common: the dispatcher, the console, and the end.
final class Run: Sendable {
  /// Where a run reads and writes.
  struct Streams: Sendable {
    var input: Int32 = 0
    var output: Int32 = 1
    var messages: Int32 = 2
  }

  /// How far a run has been stopped, other than by its deadline.
  enum Stop {
    case no
    /// By failures, or because its output accepts no more.
    case early
    case interrupted
    /// Interrupted twice.
    case atOnce
  }

  /// The least capacity of the dispatcher's queue, in requests.
  static let lookahead = 4096

  let options: FetchOptions
  let started: Deadline
  /// Whether the same command continues the run.
  let isKept: Bool
  let report: Report
  /// How progress is shown. Never `auto`.
  let progress: ProgressMode
  /// Shows the progress. Nil if none is shown.
  let display: ProgressDisplay?
  /// For everything that is written.
  let crew: LaneCrew
  let dispatcher: URLDispatcher
  /// The dispatcher's transport.
  let transport: CurlTransport
  let pending = PendingCount()
  /// For requests that must not be sent twice. Each is noted in the journal before it is sent. If the run is killed, the
  /// outcome of a noted request is unknown, so requests are held back here until they can be sent soon.
  let turns: SendingTurns
  let stopSignal: StopSignal
  let stop = Locked(Stop.no)
  /// The number of URLs and bad lines, or of rows, once it is known.
  let total = Locked(Int?.none)
  private let cookies: CookieJar?
  private let spread: SpreadCredentials
  /// Nil if the spacing of starts applies to this machine too.
  private let spared: SparedEndPoints?
  private let unmet: UnmetHosts

  /// Opens what the options name, other than lists and what is written to files.
  ///
  /// - Parameters:
  ///   - started: When the run began, for its deadline.
  ///   - stop: Stops the reading of the lists.
  ///   - printsBodies: Whether bodies or results go to standard output.
  ///   - isKept: Whether the same command continues the run.
  ///   - timeline: Observes the requests. Nil if neither a log nor a page is written.
  /// - Throws: ``FetchProblem`` for anything that can't be opened or made. Nothing has been sent then.
  init(
    _ options: FetchOptions, _ streams: Streams, started: Deadline, stop: StopSignal, printsBodies: Bool, isKept: Bool,
    timeline: RunTimeline? = nil
  ) throws(FetchProblem) {
    (self.options, self.started, self.isKept, stopSignal) = (options, started, isKept, stop)
    let isQuiet = options.verbosity == .quiet
    progress = options.progress.resolved(
      for: ProgressMode.Stream(
        isTerminal: Descriptor.isTerminal(streams.messages), terminal: Descriptor.environment("TERM"),
        hasBodies: printsBodies && Descriptor.isTerminal(streams.output), isQuiet: isQuiet))
    crew = LaneCrew(name: "headgate-output", size: 4)
    let shown = options.progressDescriptor.map { [crew] in LineWriter($0, on: crew) }
    let console = LineWriter(streams.messages, on: crew, isJSON: progress == .json && shown == nil)
    report = Report(console, options.verbosity)
    display = progress == .none ? nil : ProgressDisplay(progress, on: shown ?? console, streams.messages)
    cookies = try Run.jar(options)
    transport = try Run.transport(options, cookies)
    dispatcher = try Run.dispatcher(
      options, over: transport, timeline, ConsoleLog.logger(console, progress, isQuiet: isQuiet)
    ) { [report] in report.remark($0) }
    turns = SendingTurns(dispatcher, options.groups.limits)
    spread = SpreadCredentials(options.fieldsForAll, options.hostFields)
    spared = options.sparesLoopback ? SparedEndPoints(of: dispatcher) : nil
    unmet = UnmetHosts(options.groups, options.rules.keys)
  }

  /// Called before each request is submitted.
  func meet(_ request: DispatchRequest) {
    spared?.spare(request.endPoint)
    unmet.meet(request)
    if let warning = spread.warning(at: request.endPoint) { report.remark(warning) }
  }

  /// Tells of groups and patterns of limits without any host, probably misspelt ones. Those of a settings file are meant
  /// for other lists too.
  func tellUnmetHosts() {
    guard !isStopping, options.hostsAreOwn || report.isVerbose else { return }
    for remark in unmet.remarks { report.remark(remark) }
  }

  /// Waits for the end of everything, and saves what the run has learned for later ones.
  func close() async {
    await dispatcher.shutDown(.drain)
    // Tells the programs that share the limits that this one has gone.
    await dispatcher.gate.coordinator?.shutDown(waitingUntil: .after(.seconds(1)))
    if let file = options.connection?.cookieJar, let cookies {
      do throws(DispatchError) { try cookies.save(to: file) } catch { report.fault(.file, error.detail) }
    }
    if let file = options.adaptiveFile {
      do throws(FetchProblem) { try LearnedFile.write(learnedBy: dispatcher.gate, to: file) } catch {
        report.fault(.file, error.description)
      }
    }
    if let failure = await display?.flush() { report.fault(.file, "the progress can't be written: \(failure)") }
  }

  var elapsed: Duration { Deadline.now - started }

  /// The rest of the run's time. Nil without a deadline.
  var timeLeft: Duration? { options.deadline.map { $0 - elapsed } }
}
