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
  private let started = Deadline.now
  private let stop = Locked(Stop.no)
  /// How many URLs and bad lines there are, once that is known.
  private let total = Locked(Int?.none)
  private let showsStatus: Bool
  /// For the status line; nil where there is none.
  let received: ByteCount?
  private let cookies: CookieJar?
  private let messages: Int32

  /// Opens all that the run needs.
  ///
  /// - Throws: ``FetchProblem`` for what could not be opened or made; nothing was fetched then.
  init(_ options: FetchOptions, streams: Streams = Streams()) throws(FetchProblem) {
    var options = options
    try options.readSecrets()
    self.options = options
    messages = streams.messages
    let crew = LaneCrew(name: "headgate-output", size: 4)
    output = OutputWriter(streams.output, on: crew, held: HeldSpace(limit: options.maxHeld))
    (stopSignal, lists) = try FetchRun.openLists(options.lists, streams.input)
    try FetchRun.checkTrust(options)
    if case .folder(let folder) = options.target { try FetchRun.makeFolder(folder) }
    // Bodies and a status line on one terminal would spoil each other.
    let mixesWithBodies = options.target == .output && Descriptor.isTerminal(streams.output)
    showsStatus = options.verbosity != .quiet && Descriptor.isTerminal(messages) && !mixesWithBodies
    cookies = try FetchRun.makeJar(options)
    received = showsStatus ? ByteCount() : nil
    dispatcher = try FetchRun.makeDispatcher(options, cookies)
    report = FetchReport(
      console: LineWriter(messages, on: crew),
      log: try FetchRun.openLog(options.log, on: crew),
      logName: options.log ?? "",
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
    if let file = options.connection?.cookieJar, let cookies {
      do throws(DispatchError) { try cookies.save(to: file) } catch { report.fault(.file, error.detail) }
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
      report.remark("finishing what runs, skipping the rest; interrupt again to stop at once")
      dispatcher.beginShutDown(.graceful)
    } else {
      dispatcher.dispose()
    }
    return stop
  }

  /// The output takes no more: nothing that is still to come can be used.
  func outputBroke() {
    stopSignal.raise()
    dispatcher.dispose()
  }

  // MARK: The state

  var isStopping: Bool { stopSignal.isRaised }

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
