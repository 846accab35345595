import HeadgateDispatch
import HeadgateThreads

/// Implements `--dry-run`: reads the lists as a run would, and reports what it would fetch. It sends nothing, and
/// creates and changes no file.
struct DryRun {
  private let options: FetchOptions
  private let lists: [InputReader<NumberedLine>]
  private let paths: FilePaths
  private let limits: GateLimits
  private let report: Report
  private let outcomes: FetchReport
  private let session: SessionState?
  private let checksums: ChecksumTable
  private let arguments: [ListLine]
  private var reader: JobReader
  private var asked: Set<String> = []
  private var hosts = HostCounts()

  /// - Throws: ``FetchProblem`` for anything that a run could not read either.
  init(_ options: FetchOptions, streams: Run.Streams = Run.Streams()) throws(FetchProblem) {
    try FetchRun.checkSession(options)
    var options = options
    // Nothing is sent, so no password is needed.
    options.users = []
    try options.readElsewhere(streams.input)
    try FetchRun.checkKey(options)
    lists = try FetchRun.openLists(options, streams.input).1
    try Run.checkTrust(options)
    checksums = try ChecksumTable(files: options.list.checksumFiles)
    session = try options.session.map { path throws(FetchProblem) in try SessionState.peek(path) }
    let keepsParts = session != nil
    paths = FilePaths(
      in: options.folder, FileNames(taken: options.takenNames(keepsParts: keepsParts)),
      keepsExisting: !options.overwrites, keepsParts: keepsParts, used: session?.names ?? [])
    arguments =
      options.retriesAll
      ? session?.failedURLs(options.sent).entries.map { .entry($0) } ?? [] : options.urls.map { .url($0) }
    limits = try options.plannedLimits()
    let crew = LaneCrew(name: "headgate-output", size: 2)
    report = options.plainReport(streams.messages, on: crew)
    outcomes = FetchReport(report: report, statuses: LineWriter(streams.output, on: crew))
    reader = JobReader(options, report, outcomes)
    self.options = options
  }

  /// Reports everything. Returns the exit status, which depends on the list and the session.
  mutating func run() async -> ExitStatus {
    for (index, line) in arguments.enumerated() where !outcomes.hasLostStatuses {
      take(NumberedLine(number: index + 1, line: line), of: "argument")
    }
    for list in lists where !outcomes.hasLostStatuses { await read(list) }
    if options.verbosity != .quiet {
      for line in hosts.lines(limits, sparesLoopback: options.sparesLoopback) { report.remark(line) }
      for group in options.groups.all { report.remark(hosts.line(of: group)) }
    }
    await outcomes.close()
    let hosts = hosts
    return await report.finish { $0.planned(hosts.total, hosts: hosts.count) }
  }

  private mutating func read(_ list: InputReader<NumberedLine>) async {
    _ = await list.readAll(for: "fetch", fault: report.fault) { lines in
      for line in lines { take(line, of: list.name) }
      await outcomes.settle()
      return !outcomes.hasLostStatuses
    }
  }

  private mutating func take(_ line: NumberedLine, of list: String) {
    for job in reader.jobs(line, of: list) { tell(job) }
  }

  private mutating func tell(_ job: FetchJob) {
    var plan: SessionState.Plan?
    if let session {
      let key = options.key(job)
      guard !options.retryFailed || session.hasFailed(key), asked.insert(key).inserted else {
        return report.count { $0[.excluded] += 1 }
      }
      let found = session.plan(
        key, in: options.folder, boot: Descriptor.boot(), renews: options.newer, retriesFailed: options.retryFailed,
        repeatsUnsafe: options.sent.repeatsUnsafe, mayRepeat: options.sent.mayRepeat(job.request),
        resumes: options.sent.isPlainGet, overwrites: options.overwrites
      ) { checksum(job, named: $0) }.plan
      plan = found
      if found == .unknown { return outcomes.ended(job, .unknown) }
    }
    let planned = PlannedURL(job, plan, options.target) { paths.claim(wishedPath(job)) }
    if planned.isComplete { report.count { $0[.doneBefore] += 1 } } else { hosts.add(job.request.endPoint) }
    outcomes.list(planned.line)
  }

  private func wishedPath(_ job: FetchJob) -> String {
    options.wishedPath(job) { session?.listed($0) }
  }

  private func checksum(_ job: FetchJob, named name: String) -> Checksum? {
    checksums.expected(for: job, named: name, isFromJournal: options.retriesAll)
  }
}

/// The plan for a URL.
struct PlannedURL {
  /// The action, the URL and the file, separated by tabs. The file is omitted if bodies do not go to files.
  let line: String
  /// Whether nothing would be requested.
  let isComplete: Bool

  /// - Parameters:
  ///   - plan: The session's plan. Nil without a session.
  ///   - claim: Assigns the path of the file.
  init(_ job: FetchJob, _ plan: SessionState.Plan?, _ target: FetchOptions.Target, claim: () -> String) {
    var (word, name, offset) = (target == .statuses ? "check" : "fetch", String?.none, Int?.none)
    switch plan {
    case .complete(let file), .confirm(let file), .name(let file, renews: false): (word, name) = ("done", file.name)
    case .renew(let file), .name(let file, renews: true): (word, name) = ("renew", file.name)
    case .goOn(let given, let part): (word, name, offset) = ("resume", given, part.size)
    case .begin(let given): name = given
    case .unknown, nil: break
    }
    isComplete = word == "done"
    var parts = [word, ShownText.withoutPassword(job.url)]
    if case .folder(let folder) = target {
      parts.append(FileName.path(name ?? claim(), in: folder))
    }
    if let offset { parts.append("from byte \(offset)") }
    line = parts.map { ShownText.of($0, atMost: .max) }.joined(separator: "\t") + "\n"
  }
}

extension FetchOptions {
  /// The limits that hosts would have.
  func plannedLimits() throws(FetchProblem) -> GateLimits {
    do {
      return try GateLimits(
        endPoint: perHost, rules: rules, scopes: groups.limits, total: total, bandwidth: bandwidth)
    } catch {
      throw FetchProblem("\(error)")
    }
  }

  /// A report without progress.
  func plainReport(_ messages: Int32, on crew: LaneCrew) -> Report {
    let isJSON = progress == .json && progressDescriptor == nil
    return Report(LineWriter(messages, on: crew, isJSON: isJSON), verbosity)
  }
}
