import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// Reports what becomes of each URL: in the counts, on standard error, in the log and on the page.
struct FetchReport: Sendable {
  let report: Report
  var log: LineWriter?
  var logName = ""
  /// Standard output, for runs that write lines there instead of bodies.
  let statuses: LineWriter?
  var page: ReportPage?
  var timeline: RunTimeline?
  var limit = FailureLimit(nil)

  // MARK: Events

  func ended(_ job: FetchJob, _ outcome: FetchOutcome) {
    if let statuses, let line = StatusLine.of(job, outcome) { statuses.write(line) }
    switch outcome {
    case .received(let answer, let path): received(job, answer, path)
    case .checked(let answer):
      report.count { $0.succeed() }
      tell(answer, job)
      record(job, answer) { FetchRecord(url: job.url) }
    case .complete(let path, let bytes):
      report.count { $0[.doneBefore] += 1 }
      record(job) { FetchRecord(url: job.url, bytes: bytes, file: path) }
    case .unchanged(let answer, let path):
      report.count { $0[.doneBefore] += 1 }
      record(job, answer) { FetchRecord(url: job.url, file: path) }
    case .refused(let answer): refused(job, answer)
    case .mismatched(let mismatch): mismatched(job, mismatch)
    case .unknown:
      report.count { $0[.unknown] += 1 }
      let message = "an earlier run may have sent it, so its outcome is unknown; --retry-unsafe sends it again"
      complain(message, about: job)
      record(job) { FetchRecord(url: job.url, error: "outcome_unknown", message: message) }
    case .failed(let error, let sent): failed(job, error, sent)
    case .outputFailed(let error):
      report.count { $0.fail(.file) }
      if error.isShared { report.complain("\(error)") } else { complain("\(error)", about: job) }
      record(job) {
        FetchRecord(url: job.url, error: DispatchError.Code.fileFailed.description, message: "\(error)", attempts: 1)
      }
    }
    report.waits.withLock { $0.add(outcome, of: job.request) }
    limit.check(report.tally.unsuccessful)
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
    report.remark("\(shown(job)): \(reason); trying the next mirror")
    report.waits.withLock { $0.add(outcome, of: job.request) }
  }

  /// Reports a line of a list that is not a URL.
  func badLine(_ message: String, _ text: String, at place: String) {
    report.count { $0.fail(.usage) }
    report.complain("\(place): \(message)")
    record { FetchRecord(url: text, error: DispatchError.Code.invalidURL.description, message: message) }
    limit.check(report.tally.unsuccessful)
  }

  /// Whether writing the statuses has failed.
  var hasLostStatuses: Bool { statuses?.failure != nil }

  /// Suspends while too many lines are pending in memory.
  func settle() async {
    await report.settle()
    if let log, log.isBehind { await log.flush() }
    if let statuses, statuses.isBehind { await statuses.flush() }
    if let page { await page.settle() }
  }

  /// Adds a line to standard output.
  func list(_ line: String) { statuses?.write(line) }

  /// Writes everything that is pending, and the page.
  func close() async {
    if let log {
      await log.flush()
      if let failure = log.failure { report.fault(.file, "\(logName): the log is incomplete: \(failure)") }
    }
    if let statuses {
      await statuses.flush()
      if let failure = statuses.failure { report.fault(.file, "standard output: \(failure)") }
    }
    if let page {
      do throws(FetchProblem) { report.remark(try await page.write()) } catch {
        report.fault(.file, error.description)
      }
    }
  }

  // MARK: Outcomes

  private func received(_ job: FetchJob, _ answer: FetchAnswer, _ path: String?) {
    report.count { tally in
      tally.succeed(bytes: answer.bytes)
      if job.checksum != nil { tally[.verified] += 1 }
    }
    tell(answer, job, to: path)
    record(job, answer) { FetchRecord(url: job.url, bytes: answer.bytes, file: path, sha256: job.checksum) }
  }

  private func mismatched(_ job: FetchJob, _ mismatch: ChecksumError) {
    report.count { $0.fail(.network) }
    complain("\(mismatch)", about: job)
    record(job) {
      FetchRecord(
        url: job.url, endPoint: job.request.endPoint, error: mismatch.codeName, message: "\(mismatch)", attempts: 1,
        sha256: mismatch.found)
    }
  }

  private func refused(_ job: FetchJob, _ answer: FetchAnswer) {
    report.count { $0.fail(.http) }
    let part = answer.head.isPart ? ", with only a part of the body" : ""
    let place = answer.url == job.request.url ? "" : " at \(answer.url)"
    let message = "status \(answer.head.statusCode)\(part)\(place)"
    complain(message, about: job)
    record(job, answer) { FetchRecord(url: job.url, error: "http_error", message: message, bytes: answer.bytes) }
  }

  private func failed(_ job: FetchJob, _ error: DispatchError, _ sent: Int) {
    let isInDoubt = !job.request.isIdempotent && error.leavesDoubt
    let doubt = isInDoubt ? "; whether the server has processed it is unknown" : ""
    let message = ErrorText.of(error, askedFor: job.request.endPoint, sent: sent) + doubt
    let failure = FailureClass(error.code)
    if failure == nil, !isInDoubt {
      // The end of the run cut it off.
      report.skipped()
      report.tell("headgate: \(shown(job)): skipped")
    } else {
      report.count { tally in
        if let failure { tally.fail(failure) } else { tally[.unknown] += 1 }
        if error.code == .unreachable { tally[.unreachable] += 1 }
        if error.code == .pausedUntil { tally[.paused] += 1 }
        if error.code == .refusing { tally[.refusing] += 1 }
      }
      if error.isOutOfTime {
        // All that still waited, perhaps thousands.
        report.complain(
          "\(shown(job)): \(message)", repeating: error.codeName,
          others: "more URLs have the error \(error.codeName); -v names each of them, and so does --log")
      } else {
        complain(message, about: job)
      }
    }
    record(job) {
      FetchRecord(
        url: job.url, endPoint: error.endPoint ?? job.request.endPoint,
        error: failure == nil && isInDoubt ? "outcome_unknown" : error.code.description, message: message,
        attempts: error.attempts, queued: error.waited.inSeconds, waited: error.waitTimes,
        total: (error.waited + error.ran).inSeconds)
    }
  }

  // MARK: Output

  private func complain(_ text: String, about job: FetchJob) { report.complain("\(shown(job)): \(text)") }

  private func tell(_ answer: FetchAnswer, _ job: FetchJob, to path: String? = nil) {
    guard report.isVerbose else { return }
    let time = answer.times.map { "  \(Amount.seconds($0.total.inSeconds))" } ?? ""
    let file = path.map { " -> \($0)" } ?? ""
    report.tell("\(answer.head.statusCode)  \(Amount.bytes(answer.bytes))\(time)  \(shown(job))\(file)")
  }

  // The URL is shortened here, so that the text after it is never cut.
  private func shown(_ job: FetchJob) -> String { ShownText.of(ShownText.withoutPassword(job.mirror ?? job.url)) }

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
    endPoint = request.endPoint(answering: answer.url)
    queued = answer.times?.queued.inSeconds
    waited = answer.times?.waited ?? WaitTimes()
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
