import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// Implements `--dry-run` of `headgate call`: reads the rows as a run would, and reports what it would send. It sends
/// nothing, and creates and changes no file. The files that rows name are opened, so that a missing one is found before
/// anything is sent.
struct CallDryRun {
  private let options: CallOptions
  private let lists: [InputReader<RawRow>]
  private let limits: GateLimits
  private let report: Report
  private let outcomes: CallReport
  private let output: LineWriter
  private let state: CallState
  private let paths: FilePaths?
  private var rows = RowCount()
  private var hosts = HostCounts()

  /// - Throws: ``FetchProblem`` for anything that a run could not read either.
  init(_ options: CallOptions, streams: Run.Streams = Run.Streams()) throws(FetchProblem) {
    var options = options
    // Nothing is sent, so no password is needed.
    options.requests.users = []
    try options.check(streams.input)
    lists = try CallRun.openLists(options, streams.input).1
    try FetchRun.checkOwnFiles(options.ownFiles, lists)
    try Run.checkTrust(options.requests)
    if let session = options.session, let results = options.results {
      state = try CallJournal.peek(session: session, results: results, requests: options.requestsDigest)
    } else {
      state = CallState()
    }
    paths = options.save.map { [options] _ in
      FilePaths(in: options.folder, FileNames(taken: options.takenNames), keepsExisting: true)
    }
    limits = try options.requests.plannedLimits()
    let crew = LaneCrew(name: "headgate-output", size: 2)
    report = options.requests.plainReport(streams.messages, on: crew)
    (outcomes, output) = (CallReport(report), LineWriter(streams.output, on: crew))
    self.options = options
  }

  /// Reports everything. Returns the exit status, which depends on the rows, their files and the session.
  mutating func run() async -> ExitStatus {
    for list in lists where output.failure == nil { await read(list) }
    if options.requests.verbosity != .quiet {
      let lines = hosts.lines(limits, sparesLoopback: options.requests.sparesLoopback, of: "row")
      for line in lines { report.remark(line) }
      for group in options.requests.groups.all { report.remark(hosts.line(of: group, "row")) }
    }
    await output.flush()
    if let failure = output.failure { report.fault(.file, "standard output: \(failure)") }
    let hosts = hosts
    return await report.finish { $0.planned(hosts.total, hosts: hosts.count, verb: "send") }
  }

  private mutating func read(_ list: InputReader<RawRow>) async {
    _ = await list.readAll(for: "call", fault: report.fault) { rows in
      for row in rows { tell(row, of: list.name) }
      await report.settle()
      if output.isBehind { await output.flush() }
      return output.failure == nil
    }
  }

  private mutating func tell(_ raw: RawRow, of list: String) {
    let key = RowKey(run: state.run ?? "", content: raw.content, occurrence: rows.add(raw.content))
    let plan = state.plan(key, options.leave)
    var row = CallRow(
      key: key, list: list, line: raw.line, value: try? raw.value.get(), isInDoubt: plan.isInDoubt)
    if options.next != nil { row = row.at(page: plan.page) }
    do throws(RowProblem) {
      let value = try raw.value.get()
      var request = try options.request(value, key)
      var files = try options.template.body?.files(value) ?? []
      if case .goOn(let trail) = plan { (request, files) = (try trail.request(request), []) }
      if plan.sends {
        try check(files)
        hosts.add(request.endPoint)
      }
      count(plan)
      let folder = options.template.folder
      var parts =
        [plan.word, request.method.rawValue, ShownText.withoutPassword(request.url)]
        + files.map { folder?.full($0) ?? $0 }
      if case .send = plan, let paths, let wished = try options.save?.path(value) {
        parts.append("to " + FileName.path(paths.claim(wished), in: paths.root))
      }
      if options.next != nil, plan.sends { parts.append(Self.pages(from: plan.page, upTo: options.leave.maxPages)) }
      output.write(parts.map { ShownText.of($0, atMost: .max) }.joined(separator: "\t") + "\n")
    } catch {
      guard plan.sends else { return count(plan) }
      outcomes.ended(row, CallResult(row, .notSent, error: error.code, message: error.message), bytes: 0)
    }
  }

  /// Opens the files as the run would.
  private func check(_ files: [String]) throws(RowProblem) {
    guard let folder = options.template.folder else { return }
    for file in files {
      do throws(RequestBodyError) { Descriptor.close(try folder.open(file)) } catch {
        throw RowProblem(code: DispatchError.Code.bodyFailed.description, message: error.description)
      }
    }
  }

  /// The pages that would be requested: `pages 1 to 9`.
  private static func pages(from first: Int, upTo most: Int?) -> String {
    guard let most else { return "pages from \(first)" }
    return first == most ? "page \(first)" : "pages \(first) to \(most)"
  }

  private func count(_ plan: CallState.Plan) {
    switch plan {
    case .complete: outcomes.found(.ok, error: nil)
    case .before(let outcome, let error): outcomes.found(outcome, error: error)
    case .unknown: outcomes.found(.unknown, error: nil)
    case .send, .goOn: break
    }
  }
}

extension CallState.Plan {
  /// Whether a request is sent.
  fileprivate var sends: Bool {
    switch self {
    case .send, .goOn: true
    case .complete, .before, .unknown: false
    }
  }

  /// The action as a word.
  fileprivate var word: String {
    switch self {
    case .complete: "done"
    case .before(.unknown, _), .unknown: "unknown"
    case .before: "failed"
    case .send: "send"
    case .goOn: "resume"
    }
  }
}
