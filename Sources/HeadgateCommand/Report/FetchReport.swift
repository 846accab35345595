import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// Reports a run: the counts, the lines on standard error, and the log.
final class FetchReport: Sendable {
  let console: LineWriter
  private let log: LineWriter?
  private let logName: String
  private let statuses: LineWriter?
  private let page: ReportPage?
  private let timeline: RunTimeline?
  private let verbosity: FetchOptions.Verbosity
  let limit: FailureLimit
  private let state = Locked(Tally())

  init(
    console: LineWriter, log: LineWriter?, logName: String, statuses: LineWriter?, page: ReportPage?,
    timeline: RunTimeline?, verbosity: FetchOptions.Verbosity, limit: FailureLimit = FailureLimit(nil)
  ) {
    self.console = console
    self.log = log
    self.logName = logName
    self.statuses = statuses
    self.page = page
    self.timeline = timeline
    self.verbosity = verbosity
    self.limit = limit
  }

  var tally: Tally { state.withLock { $0 } }

  // MARK: Events

  func ended(_ job: FetchJob, _ outcome: FetchOutcome) {
    if let statuses, let line = StatusLine.of(job, outcome) { statuses.write(line) }
    switch outcome {
    case .received(let answer, let path): received(job, answer, path)
    case .checked(let answer): checked(job, answer)
    case .complete(let path, let bytes):
      state.withLock { $0.find() }
      record(job) { FetchRecord(url: job.url, bytes: bytes, file: path) }
    case .unchanged(let answer, let path):
      state.withLock { $0.find() }
      record(job, answer) { FetchRecord(url: job.url, file: path) }
    case .refused(let answer): refused(job, answer)
    case .mismatched(let mismatch): mismatched(job, mismatch)
    case .unknown: unknown(job)
    case .failed(let error, let sent): failed(job, error, sent)
    case .outputFailed(let error):
      state.withLock { $0.fail(.file) }
      if error.isShared { complain("\(error)") } else { complain("\(error)", about: job) }
      record(job) {
        FetchRecord(url: job.url, error: DispatchError.Code.fileFailed.description, message: "\(error)", attempts: 1)
      }
    }
    limit.check(tally.failed)
  }

  /// A URL failed, and its next mirror is tried.
  func movedOn(_ job: FetchJob, _ outcome: FetchOutcome) {
    let reason =
      switch outcome {
      case .refused(let answer): "status \(answer.head.statusCode)"
      case .mismatched(let mismatch): "\(mismatch)"
      case .failed(let error, _): ErrorText.of(error, askedFor: job.request.endPoint)
      default: "no body"
      }
    remark("\(shown(job)): \(reason); trying the next mirror")
  }

  /// Reports a line of a list that is not a URL.
  func badLine(_ message: String, _ text: String, at place: String) {
    state.withLock { $0.fail(.usage) }
    complain("\(place): \(message)")
    record { FetchRecord(url: text, error: DispatchError.Code.invalidURL.description, message: message) }
    limit.check(tally.failed)
  }

  /// Reports a fault of the run itself, not of a URL.
  func fault(_ failure: FailureClass, _ text: String) {
    state.withLock { $0.note(failure) }
    complain(text)
  }

  /// Counts lines that are no longer read. Nil stands for an unknown number.
  func skippedUnread(_ count: Int?) { state.withLock { $0.skipUnread(count) } }

  /// Counts a URL that is excluded: it is a duplicate in the list, or not among those that failed in a session.
  func exclude() { state.withLock { $0.exclude() } }

  /// Counts a URL in another shard of the list.
  func leftToOthers() { state.withLock { $0.leaveToOthers() } }

  /// Whether writing the statuses has failed.
  var hasLostStatuses: Bool { statuses?.failure != nil }

  func interrupted() { state.withLock { $0.isInterrupted = true } }

  /// Writes a remark, which is neither data nor an error.
  func remark(_ text: String) {
    if verbosity != .quiet { say("headgate: \(text)") }
  }

  /// Shows lines at the user's request.
  func show(_ text: String) {
    for line in text.split(separator: "\n") { say(String(line)) }
  }

  /// Suspends while too many lines are pending in memory.
  func settle() async {
    if console.isBehind { await console.flush() }
    if let log, log.isBehind { await log.flush() }
    if let statuses, statuses.isBehind { await statuses.flush() }
    if let page { await page.settle() }
  }

  /// Adds a line to standard output, for runs that write such lines instead of bodies.
  func list(_ line: String) { statuses?.write(line) }

  /// Writes everything that is pending, with the summary last. Returns the exit status.
  func finish(seconds: Double, peak: Int) async -> ExitStatus {
    await finish { $0.summary(seconds: seconds, peak: peak) }
  }

  func finish(_ summary: (Tally) -> String) async -> ExitStatus {
    if let log {
      await log.flush()
      if let failure = log.failure { fault(.file, "\(logName): the log is incomplete: \(failure)") }
    }
    if let statuses {
      await statuses.flush()
      if let failure = statuses.failure { fault(.file, "standard output: \(failure)") }
    }
    if let page {
      do throws(FetchProblem) { remark(try await page.write()) } catch { fault(.file, error.description) }
    }
    console.endStatus()
    let tally = tally
    if verbosity != .quiet { console.tell(summary(tally) + "\n") }
    await console.flush()
    return tally.exitStatus
  }

  // MARK: Outcomes

  private func received(_ job: FetchJob, _ answer: FetchAnswer, _ path: String?) {
    state.withLock { $0.succeed(bytes: answer.bytes, isVerified: job.checksum != nil) }
    tell(answer, job, to: path)
    record(job, answer) { FetchRecord(url: job.url, bytes: answer.bytes, file: path, sha256: job.checksum) }
  }

  private func checked(_ job: FetchJob, _ answer: FetchAnswer) {
    state.withLock { $0.succeed(bytes: 0) }
    tell(answer, job, to: nil)
    record(job, answer) { FetchRecord(url: job.url) }
  }

  private func mismatched(_ job: FetchJob, _ mismatch: ChecksumError) {
    state.withLock { $0.fail(.network) }
    complain("\(mismatch)", about: job)
    record(job) {
      FetchRecord(
        url: job.url, endPoint: job.request.endPoint, error: mismatch.codeName,
        message: "\(mismatch)",
        attempts: 1, sha256: mismatch.found)
    }
  }

  private func refused(_ job: FetchJob, _ answer: FetchAnswer) {
    state.withLock { $0.fail(.http) }
    let part = answer.head.isPart ? ", with only a part of the body" : ""
    let message =
      "status \(answer.head.statusCode)\(part)" + (answer.url == job.request.url ? "" : " at \(answer.url)")
    complain(message, about: job)
    record(job, answer) {
      FetchRecord(url: job.url, error: "http_error", message: message, bytes: answer.bytes)
    }
  }

  private func failed(_ job: FetchJob, _ error: DispatchError, _ sent: Int) {
    let isInDoubt = !job.request.isIdempotent && error.leavesDoubt
    let doubt = isInDoubt ? "; whether the server has processed it is unknown" : ""
    let message = ErrorText.of(error, askedFor: job.request.endPoint, sent: sent) + doubt
    let failure = FailureClass(error.code)
    // A request that the end of the run cuts off is skipped, unless its outcome is unknown.
    if let failure = failure ?? (isInDoubt ? .network : nil) {
      state.withLock { tally in
        tally.fail(failure)
        tally.noteGivenUp(error.code)
      }
      complain(message, about: job)
    } else {
      state.withLock { $0.skip() }
      if verbosity == .verbose { complain("skipped", about: job) }
    }
    record(job) {
      let queued = error.waited.inSeconds
      return FetchRecord(
        url: job.url,
        endPoint: error.endPoint ?? job.request.endPoint,
        error: failure == nil && isInDoubt ? "outcome_unknown" : error.code.description,
        message: message,
        attempts: error.attempts,
        queued: queued,
        total: queued + error.ran.inSeconds
      )
    }
  }

  private func unknown(_ job: FetchJob) {
    state.withLock { $0.fail(.network) }
    let message =
      "an earlier run may have sent it, so its outcome is unknown; --retry-unsafe sends it again"
    complain(message, about: job)
    record(job) { FetchRecord(url: job.url, error: "outcome_unknown", message: message) }
  }

  // MARK: Output

  private func complain(_ text: String) { say("headgate: \(text)") }

  private func complain(_ text: String, about job: FetchJob) { complain("\(shown(job)): \(text)") }

  private func tell(_ answer: FetchAnswer, _ job: FetchJob, to path: String?) {
    guard verbosity == .verbose else { return }
    let time = answer.times.map { "  \(Amount.seconds($0.total.inSeconds))" } ?? ""
    let file = path.map { " -> \($0)" } ?? ""
    say("\(answer.head.statusCode)  \(Amount.bytes(answer.bytes))\(time)  \(shown(job))\(file)")
  }

  // The URL is shortened here, so that the text after it is never cut.
  private func shown(_ job: FetchJob) -> String { ShownText.of(ShownText.withoutPassword(job.mirror ?? job.url)) }

  /// Writes a line. This is the one place where text from servers, lists, certificates and file names is escaped.
  private func say(_ line: String) { console.tell(ShownText.of(line, atMost: FetchReport.longestLine) + "\n") }

  /// Enough for a URL, a file name and a message.
  private static let longestLine = 8_000

  private func record(_ job: FetchJob? = nil, _ answer: FetchAnswer? = nil, _ make: () -> FetchRecord) {
    guard log != nil || page != nil else { return }
    var record = make()
    if let job, let answer { record.add(answer, to: job.request) }
    record.mirror = job?.mirror
    record.method = job?.request.method.rawValue
    record.timeline = timeline?.take(job?.index)
    record.time = WallClock.now()
    let line = record.json
    log?.write(line)
    page?.add(line)
  }
}

extension FetchRecord {
  fileprivate mutating func add(_ answer: FetchAnswer, to request: DispatchRequest) {
    finalURL = answer.url
    status = answer.head.statusCode
    version = answer.head.version?.description
    endPoint = answer.url == request.url ? request.endPoint : try? EndPoint(answer.url)
    queued = answer.times?.queued.inSeconds
    attempts = answer.times?.attempts ?? 1
    exchange = answer.times?.exchange
    total = answer.times?.total.inSeconds
  }
}

/// The line that `--check` writes to standard output for a URL.
enum StatusLine {
  /// The status or the error's code, the URL, and the redirect target if any, separated by tabs. Nil for a URL that was
  /// not requested.
  static func of(_ job: FetchJob, _ outcome: FetchOutcome) -> String? {
    switch outcome {
    case .checked(let answer), .refused(let answer):
      line("\(answer.head.statusCode)", job, answer.url == job.request.url ? nil : answer.url)
    case .failed(let error, _) where FailureClass(error.code) != nil: line(error.code.description, job, nil)
    default: nil
    }
  }

  private static func line(_ status: String, _ job: FetchJob, _ url: String?) -> String {
    let urls = [job.url, url].compactMap(\.self).map { ShownText.of(ShownText.withoutPassword($0), atMost: .max) }
    return ([status] + urls).joined(separator: "\t") + "\n"
  }
}
