import ArgumentParser
import HTTPTypes
import HeadgateDispatch

/// `headgate fetch`.
struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Fetch a list of URLs, within a limit of concurrent requests for each host.",
    discussion: FetchHelp.text
  )

  @Argument(help: ArgumentHelp("URLs to fetch, before those of any list.", valueName: "url"))
  var urls: [String] = []

  @Option(
    name: [.customShort("i", allowingJoined: true), .customLong("input-file")],
    help: ArgumentHelp(
      "A list with one URL per line; blank lines and # comments are skipped. Gzip is unpacked. - is standard input. "
        + "Repeatable.",
      valueName: "file|-"
    ), completion: .file()
  )
  var lists: [String] = []

  @Option(
    name: [.customShort("P", allowingJoined: true), .customLong("output-dir")],
    help: ArgumentHelp("Write files into this folder, which is created if necessary.", valueName: "dir"),
    completion: .directory
  )
  var folder: String?

  @Flag(name: [.customShort("O"), .customLong("remote-name")], help: "Write files into the current folder.")
  var here = false

  @OptionGroup
  var naming: NamingOptions

  @Flag(help: "Replace existing files. Otherwise they are kept, and the new file is called name.1.")
  var overwrite = false

  @OptionGroup(title: "Lists")
  var list: ListOptions

  @Flag(
    help: ArgumentHelp(
      "Ask for bodies compressed with gzip, and store them unpacked. One that breaks off begins anew."))
  var compressed = false

  @Option(
    help: ArgumentHelp(
      "After this many failed URLs nothing new starts. Running requests are finished, and the rest is skipped.",
      valueName: "n"),
    transform: OptionValue.count
  )
  var maxFailures: Int?

  @OptionGroup(title: "Request")
  var sending: SendingOptions

  @OptionGroup(title: "Session")
  var session: SessionOptions

  @OptionGroup
  var common: RunOptions

  @OptionGroup(title: "Redirects")
  var redirection: RedirectOptions

  @OptionGroup(title: "Amounts")
  var amounts: AmountOptions

  @Option(
    help: ArgumentHelp(
      "Write a JSON record for each URL, one per line, as it ends. The file is replaced, but a run that continues a "
        + "--session appends to it; a new one is private. "
        + "- is standard output, if bodies go to files. "
        + "Passwords in URLs are written as ***, as in all messages; the text after a ? is kept.",
      valueName: "file|-"
    ), completion: .file()
  )
  var log: String?

  @Option(
    name: .customLong("report"),
    help: ArgumentHelp(
      "Write a page for a browser at the end, with the requests, queue, pauses, times and failures of each host. "
        + "The page loads nothing from the network. headgate report makes one from a log.",
      valueName: "file.html"
    ), completion: .file()
  )
  var page: String?

  @OptionGroup
  var curl: CurlOptions

  /// Whether bodies go to files.
  private var hasFiles: Bool { folder != nil || here || naming.output != nil }

  func validate() throws {
    try checkListOptions()
    try session.checkUse()
    guard !here || naming.output == nil else {
      throw ValidationError(
        "-O and -o can't be combined: -O names files after their URLs, as {name} does; leave -O out.")
    }
    guard !overwrite || hasFiles else {
      throw ValidationError("--overwrite applies to files: give -P DIR, -O or -o too.")
    }
    guard lists.filter({ $0 == "-" }).count <= 1 else {
      throw ValidationError("Standard input can be read only once; give -i - once.")
    }
    guard sending.readsInput.isEmpty || !lists.contains("-") else {
      throw ValidationError("Standard input can be read only once; give -i - or @-.")
    }
    try common.retries.check(hasSession: session.session != nil)
    guard !session.newer || sending.sentMethod == .get && sending.source == nil else {
      throw ValidationError("-N needs GET without a body; leave -N out, or -X, -d and --json.")
    }
    guard log != "-" || hasFiles else {
      throw ValidationError(
        "--log - needs standard output, which is used for bodies; give -P DIR, -O or -o too, or a file for the log.")
    }
    guard session.session == nil || hasFiles else {
      throw ValidationError("--session applies to files: give -P DIR, -O or -o too.")
    }
    guard !curl.silent || !common.progress.verbose && [.auto, .none].contains(common.progress.progress.mode) else {
      throw ValidationError("-s and -v or --progress can't be combined; leave -s out.")
    }
    guard !naming.remoteTime || hasFiles else {
      throw ValidationError("--remote-time applies to files: give -P DIR, -O or -o too.")
    }
    guard !naming.contentDisposition || hasFiles else {
      throw ValidationError("--content-disposition applies to files: give -P DIR, -O or -o too.")
    }
    guard !naming.contentDisposition || session.session == nil else {
      throw ValidationError(
        "--content-disposition and --session can't be combined: a session has to know the name of a file before the "
          + "request, so that it can continue a partial file.")
    }
    for list in lists { try OptionValue.checkFile(list, of: "-i", dash: "standard input") }
    try OptionValue.checkFile(log, of: "--log", dash: "standard output")
    try OptionValue.checkFile(page, of: "--report")
    try OptionValue.checkFile(session.session, of: "--session")
    guard folder != "" else { throw ValidationError("-P needs the name of a folder; . is the current one.") }
  }

  /// Checks that there is something to fetch. Not in `validate`, which the parser calls before it reports unknown
  /// options: the value of such an option would be mistaken for a URL and reported instead.
  private func checkURLs(_ options: FetchOptions) throws(FetchProblem) {
    guard !urls.isEmpty || !lists.isEmpty || session.retryFailed else {
      throw FetchProblem(
        "there is nothing to fetch: give URLs, or a list with -i FILE (- is standard input); see headgate fetch --help",
        status: .usage)
    }
    for url in urls {
      do throws(DispatchError) {
        _ = try options.request(url)
      } catch {
        throw FetchProblem(BadURL.message(argument: url, error.detail, here: here), status: .usage)
      }
    }
  }

  /// The options after checks.
  func options() throws -> FetchOptions {
    var options = try common.options()
    options.urls = urls
    options.lists = lists
    options.list = list.rules
    options.target = list.check ? .statuses : folder.map { .folder($0) } ?? (hasFiles ? .folder(".") : .output)
    options.template = naming.output
    (options.takesNames, options.takesTimes) = (naming.contentDisposition, naming.remoteTime)
    options.unpacks = compressed
    options.maxFailures = maxFailures
    options.sent.method = sending.sentMethod
    options.bodySource = sending.source
    for source in common.credentials.headers + common.credentials.headerVariables { options.take(source) }
    options.maxRedirects = redirection.maxRedirs
    let socket = options.redirects.socket
    options.redirects = redirection.rule
    options.redirects.socket = socket
    options.maxBytes = amounts.maxFilesize
    options.minimumSpeed = amounts.minimumSpeed
    options.maxHeld = amounts.maxHeld
    options.overwrites = overwrite
    (options.session, options.retryFailed, options.newer) = (session.session, session.retryFailed, session.newer)
    options.log = log
    options.page = page
    if curl.silent { options.verbosity = .quiet }
    return options
  }

  func run() async throws {
    let options = try options()
    try checkURLs(options)
    try await exit {
      guard options.list.isDryRun else { return try await FetchRun(options).runWithSignals() }
      var dryRun = try DryRun(options)
      return await dryRun.run()
    }
  }
}

/// Options for the names of files.
struct NamingOptions: ParsableArguments {
  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")],
    help: ArgumentHelp(
      "The path of each file below the folder of -P or the current folder: a name, or a text with {host}, {port}, {path} "
        + "(the folders of the URL's path), {name} (the name without -o), {stem} and {ext} (its parts), {n} (the URL's "
        + "number), {line} (its line in the list), {hash} or {hash:2} (digits of the URL's SHA-256). Folders are created.",
      valueName: "template"
    ),
    transform: { try OutputTemplate($0) }
  )
  var output: OutputTemplate?

  @Flag(
    help: ArgumentHelp(
      "Take the names of files from the Content-Disposition field of responses; with -o these are {name}, {stem} and "
        + "{ext}. Files with the same name are numbered in the order of their arrival."))
  var contentDisposition = false

  @Flag(
    name: [.customShort("R"), .long],
    help: "Give each file the time of the response's Last-Modified field, if there is one.")
  var remoteTime = false
}
