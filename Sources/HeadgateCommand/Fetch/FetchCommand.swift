import ArgumentParser
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// `headgate fetch`.
struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Fetch a list of URLs, never more at once from a host than it tolerates.",
    discussion: FetchHelp.text
  )

  @Argument(help: ArgumentHelp("URLs to fetch, before those of any list.", valueName: "url"))
  var urls: [String] = []

  @Option(
    name: [.customShort("i"), .customLong("input-file")],
    help: ArgumentHelp(
      "A list with one URL a line; blank lines and # comments are passed over; - is the standard input. Repeatable.",
      valueName: "file|-"
    )
  )
  var lists: [String] = []

  @Option(
    name: [.customShort("P"), .customLong("output-dir")],
    help: ArgumentHelp("Write files into this folder, which is made if it is missing.", valueName: "dir")
  )
  var folder: String?

  @Flag(name: [.customShort("O"), .customLong("remote-name")], help: "Write files into the current folder.")
  var here = false

  @Flag(help: "Replace files that exist; else they stay, and the new one is called name.1.")
  var overwrite = false

  @Option(
    help: ArgumentHelp(
      "Requests at once for each host and port. Two names of one machine are two hosts. (default: 6)", valueName: "n"),
    transform: OptionValue.count
  )
  var perHost = EndPointLimits.standard.requests

  @Option(
    name: .customLong("limit"),
    help: ArgumentHelp(
      "Requests at once for these hosts, whatever --per-host says: a host, *.domain or *, and perhaps :port. The most "
        + "specific one holds. Repeatable.",
      valueName: "host=n"
    ),
    transform: OptionValue.rule
  )
  var rules: [HostRule] = []

  @Option(
    name: [.short, .customLong("jobs")],
    help: ArgumentHelp("Requests at once in all; unless given, what open files leave room for.", valueName: "n"),
    transform: OptionValue.count
  )
  var jobs: Int?

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "The most time for a URL, redirects included; waiting for its turn never counts.",
      valueName: "seconds"
    ),
    transform: OptionValue.seconds
  )
  var maxTime: Duration?

  @Option(help: ArgumentHelp("The most time for the whole run.", valueName: "seconds"), transform: OptionValue.seconds)
  var deadline: Duration?

  @Option(
    help: ArgumentHelp(
      "How many times a URL is asked again that the network lost or the server puts off (408, 429, 502, 503, 504), with "
        + "growing waits in between, or as long as Retry-After says, up to a minute. (default: 0)",
      valueName: "n"
    ),
    transform: OptionValue.retries
  )
  var retry = 0

  @Option(
    help: ArgumentHelp("The most time for a connection: name, TCP and TLS. (default: 30)", valueName: "seconds"),
    transform: OptionValue.seconds
  )
  var connectTimeout: Duration = .seconds(30)

  @Option(
    help: ArgumentHelp("The longest silence of a server. (default: 120)", valueName: "seconds"),
    transform: OptionValue.seconds
  )
  var idleTimeout: Duration = .seconds(120)

  @OptionGroup(title: "Credentials")
  var credentials: CredentialOptions

  @OptionGroup(title: "Redirects")
  var redirection: RedirectOptions

  @OptionGroup(title: "Amounts")
  var amounts: AmountOptions

  @OptionGroup(title: "Connection")
  var connection: ConnectionOptions

  @Option(
    help: ArgumentHelp(
      "Write a JSON record for each URL, one a line, as it ends. The file is replaced; a new one is for its owner alone. "
        + "Passwords in URLs are written as ***, here as in all messages; what stands after a ? is kept.",
      valueName: "file"
    )
  )
  var log: String?

  @Flag(name: [.short, .long], help: "No progress and no summary; errors are still said.")
  var quiet = false

  @Flag(name: [.short, .long], help: "One line for each URL.")
  var verbose = false

  func validate() throws {
    guard !urls.isEmpty || !lists.isEmpty else {
      throw ValidationError("There is nothing to fetch: give URLs, or a list with -i FILE (- is the standard input).")
    }
    guard !(quiet && verbose) else { throw ValidationError("-q and -v exclude each other; give one of them.") }
    guard !overwrite || folder != nil || here else {
      throw ValidationError("--overwrite is about files: give -P DIR or -O as well.")
    }
    guard lists.filter({ $0 == "-" }).count <= 1 else {
      throw ValidationError("The standard input can be read only once; give -i - once.")
    }
    guard log != "-" else {
      throw ValidationError("--log needs a file: the standard output is for bodies.")
    }
    guard folder != "" else { throw ValidationError("-P needs the name of a folder; . is the current one.") }
    let options = try options()
    for url in urls {
      do { _ = try options.request(url) } catch {
        throw ValidationError("\(BadURL.message(url, error.detail)).")
      }
    }
  }

  /// The checked form of what was given.
  func options() throws -> FetchOptions {
    var options = FetchOptions()
    options.urls = urls
    options.lists = lists
    options.target = folder.map { .folder($0) } ?? (here ? .folder(".") : .output)
    options.perHost = try EndPointLimits(requests: perHost)
    for rule in rules { options.rules[rule.pattern] = rule.limits }
    options.total = try total()
    options.retries = retry
    options.maxTime = maxTime
    options.deadline = deadline
    options.connectTimeout = connectTimeout
    options.idleTimeout = idleTimeout
    for case .field(let field) in credentials.headers { options.headerFields.append(field) }
    options.headerSources = credentials.headers.filter(\.isElsewhere) + credentials.headerVariables
    options.passwordFile = try credentials.passwordFile()
    options.maxRedirects = redirection.maxRedirs
    options.redirects = redirection.rule
    options.redirects.socket = connection.unixSocket
    options.maxBytes = amounts.maxFilesize
    options.leastSpeed = amounts.leastSpeed
    options.maxHeld = amounts.maxHeld
    options.overwrites = overwrite
    options.log = log
    options.verbosity = quiet ? .quiet : verbose ? .verbose : .normal
    options.connection = connection
    return options
  }

  private func total() throws -> Int {
    guard let jobs else { return GateLimits.defaultTotal }
    let most = GateLimits.mostTotal
    guard jobs <= most else {
      throw ValidationError(
        "-j \(jobs) needs more open files than this process may have, which suffice for \(most); "
          + "raise their number with ulimit -n."
      )
    }
    return jobs
  }

  func run() async throws {
    // A closed output is an error like others, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    let run = try FetchRun(try options())
    let signals = InterruptSignals { run.interrupted() }
    let status = await run.run()
    signals.cancel()
    throw ExitCode(status.rawValue)
  }
}
