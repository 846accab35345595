import ArgumentParser
import HTTPTypes
import HeadgateDispatch

/// `headgate call`.
struct CallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "call",
    abstract: "Send one request for each row of a list, and write one result for each.",
    discussion: CallHelp.text
  )

  @Option(
    name: [.customShort("i", allowingJoined: true), .customLong("input-file")],
    help: ArgumentHelp(
      "Read rows from this file: one JSON object per line, or CSV with a header line if the name ends in .csv or "
        + ".csv.gz. Gzip is unpacked. - is standard input. Repeatable.",
      valueName: "file|-"
    ), completion: .file()
  )
  var lists: [String] = []

  @Flag(help: "Read all rows as CSV, whatever the file names.")
  var csv = false

  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")],
    help: ArgumentHelp(
      "Write results to this file, one per line as rows end, instead of to standard output. A file with earlier "
        + "results is continued with --session, and refused without. A new file is readable only by its owner.",
      valueName: "file|-"
    ), completion: .file()
  )
  var output: String?

  @Option(
    help: ArgumentHelp(
      "Write the body of each success to a file of its own, below the folder of -P or the current folder: a path with "
        + "{field}, as in out/{id}.pdf. Its result has the path in place of the body. Existing files are kept: the new one "
        + "is called name.1.",
      valueName: "template"
    ),
    transform: { try SaveTemplate($0) }
  )
  var save: SaveTemplate?

  @Option(
    name: [.customShort("P", allowingJoined: true), .customLong("output-dir")],
    help: ArgumentHelp("The folder of --save, which is created if necessary.", valueName: "dir"),
    completion: .directory
  )
  var folder: String?

  @OptionGroup(title: "Requests")
  var requests: RequestOptions

  @OptionGroup(title: "Pages")
  var pages: PageOptions

  @OptionGroup(title: "Once and only once")
  var once: OnceOptions

  @OptionGroup
  var common: RunOptions

  @Option(
    name: .customLong("weight"),
    help: ArgumentHelp(
      "The weight of a row, taken from one of its fields, and the total weight per host and s, min, h or d: "
        + "max_tokens=90000/min. Repeatable.",
      valueName: "field=n/min"
    ),
    transform: WeightRule.init
  )
  var weights: [WeightRule] = []

  @Option(
    help: ArgumentHelp(
      "With --weight: the field of a JSON response that has the row's actual weight, such as usage.total_tokens.",
      valueName: "field"
    ),
    transform: FieldPath.init
  )
  var settle: FieldPath?

  @Flag(
    help: ArgumentHelp(
      "Send nothing and write no file. For each row, show the action (send; with --session also resume, done, "
        + "failed or unknown), its method, URL, files and pages, separated by tabs; for each host, its number of rows "
        + "and its limits."))
  var dryRun = false

  func validate() throws {
    guard lists.filter({ $0 == "-" }).count <= 1 else {
      throw ValidationError("Standard input can be read only once; give -i - once.")
    }
    for list in lists { try OptionValue.checkFile(list, of: "-i", dash: "standard input") }
    try OptionValue.checkFile(output, of: "-o", dash: "standard output")
    try OptionValue.checkFile(once.session, of: "--session")
    try common.retries.check(hasSession: once.session != nil)
    guard once.session == nil || output != nil && output != "-" else {
      throw ValidationError("--session needs a results file to continue: give -o FILE too.")
    }
    guard once.session == nil || once.session != output else {
      throw ValidationError("--session and -o must be different files.")
    }
    guard folder == nil || save != nil else {
      throw ValidationError("-P applies to files: give --save TEMPLATE too.")
    }
    guard folder != "" else { throw ValidationError("-P needs the name of a folder; . is the current one.") }
    guard save == nil || settle == nil else {
      throw ValidationError("--settle reads bodies that --save writes to files; give one of them.")
    }
    guard save == nil || pages.next == nil else {
      throw ValidationError("--next writes each page to the results: leave out --save.")
    }
    let budgets = weights.map(\.budget.name)
    guard Set(budgets).count == budgets.count else {
      throw ValidationError("--weight is given twice for the same field and period; give it once.")
    }
    guard settle == nil || Set(weights.map(\.path)).count == 1 else {
      throw ValidationError("--settle corrects the weight of one field: give --weight for one field too.")
    }
  }

  /// The options after checks.
  func options() throws -> CallOptions {
    var options = CallOptions()
    options.requests = try requestsOptions()
    (options.lists, options.isCSV) = (lists, csv)
    (options.save, options.folder) = (save, folder ?? ".")
    options.results = output == "-" ? nil : output
    options.session = once.session
    options.next = pages.next
    options.leave = CallState.Leave(
      retriesFailed: once.retryFailed, retriesUnsafe: common.retries.retryUnsafe, maxPages: pages.maxPages)
    (options.weights, options.settlement) = (weights, settle)
    options.responseFields = requests.responseFields
    (options.template, options.templateText) = try requests.template(once.idempotencyKey, pages.next)
    for source in common.credentials.headers {
      if case .field(let field) = source, case let value = try Self.template(field), value.isVariable {
        options.template.headers.append((field.name, value))
      } else {
        try Self.mustBeFixed(source)
        options.requests.take(source)
      }
    }
    for source in common.credentials.headerVariables { options.requests.take(source) }
    if let sample = options.template.url?.sample {
      do throws(DispatchError) { _ = try options.requests.request(sample) } catch {
        throw FetchProblem("--url, with 1 for each field: \(BadURL.message(sample, error.detail))", status: .usage)
      }
    }
    guard !lists.isEmpty else {
      throw FetchProblem(
        "there are no rows: give a file with -i FILE (- is standard input); see headgate call --help",
        status: .usage)
    }
    return options
  }

  private static func template(_ field: HTTPField) throws(FetchProblem) -> Template {
    do throws(OptionError) { return try Template(field.value) } catch {
      throw FetchProblem("-H \(field.name): \(error)", status: .usage)
    }
  }

  /// A field for some hosts is the same for all rows.
  private static func mustBeFixed(_ source: HeaderSource) throws(FetchProblem) {
    guard case .only(let pattern, .field(let field)) = source, try template(field).isVariable else { return }
    throw FetchProblem(
      "-H \(pattern)=\(field.name): a field for some hosts can't contain {fields} of the row; leave the host out",
      status: .usage)
  }

  private func requestsOptions() throws -> FetchOptions {
    var options = try common.options(weights.map(\.budget))
    // A redirect is a result: the action was not performed at this URL, and a second request may perform it twice.
    options.maxRedirects = 0
    options.maxBytes = requests.maxFilesize
    return options
  }

  func run() async throws {
    let options = try options()
    try await exit {
      guard dryRun else { return try await CallRun(options).runWithSignals() }
      var plan = try CallDryRun(options)
      return await plan.run()
    }
  }
}
