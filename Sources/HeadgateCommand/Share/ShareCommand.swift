import ArgumentParser
import HeadgateDispatch
import HeadgateLibC
import HeadgateSharing
import HeadgateThreads

/// `headgate share`: the server of `--share unix` and of `headgate hold`.
struct ShareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "share",
    abstract: "Serve limits that programs share.",
    subcommands: [ShareServeCommand.self, ShareInitCommand.self]
  )
}

/// `headgate share serve`.
struct ShareServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve permits to your programs on this machine.",
    discussion: """
      You rarely need this command: headgate hold and --share unix start the server when they need it, and it ends \
      when it has not been used for a while. Start it yourself to keep the history of rates while no program runs: \
      --linger says for how long.
      """
  )

  @Option(
    help: ArgumentHelp("Serve this folder. (default: $HEADGATE_FOLDER, else /tmp/headgate-UID)", valueName: "folder"),
    completion: .directory)
  var folder: String?

  @Option(
    help: ArgumentHelp(
      "How long to run after the last program and permit. Rates and pauses can keep it running for up to an hour. (default: 10)",
      valueName: "seconds"), transform: OptionValue.seconds)
  var linger: Duration = .seconds(10)

  @Option(
    help: ArgumentHelp(
      "Serve the numbers of held and waiting permits in OpenMetrics's format, at http://ADDRESS/metrics: 127.0.0.1:PORT or "
        + "[::1]:PORT. All users of this machine can read them. The server then runs until it is stopped.",
      valueName: "address"),
    transform: OptionValue.loopback)
  var metrics: EndPoint?

  @Option(
    help: ArgumentHelp(
      "Keep in this folder, for later servers, the pauses that programs tell of and the starts in the periods of rates "
        + "that are a minute or longer. (default: that of fetch and call, see headgate state; for another folder than "
        + "/tmp/headgate-UID, the folder state in it)", valueName: "folder"), completion: .directory)
  var state: String?

  @Flag(help: "Keep nothing for later servers.")
  var noState = false

  @Flag(help: "Serve in the background.")
  var background = false

  func validate() throws {
    guard metrics == nil || !background else {
      throw ValidationError("--metrics and --background can't be combined; start it with a service manager, or with &.")
    }
    guard state == nil || !noState else {
      throw ValidationError("--state and --no-state can't be combined; give one of them.")
    }
    guard state != "" else { throw ValidationError("--state needs the name of a folder; . is the current one.") }
  }

  /// Where state is kept. Nil: nowhere. Programs that share in a folder of their own have a state of their own too.
  func place(for folder: PermitFolder) -> StatePlace? {
    if noState { return nil }
    if let state { return StatePlace(folder: state, isChosen: true) }
    return folder == .usual ? .usual() : StatePlace(folder: folder.path + "/state", isChosen: false)
  }

  func run() async throws {
    let folder = self.folder.map { PermitFolder(path: $0) } ?? .user
    if background {
      return try ShareServerProcess.startDetached(in: folder, linger: linger, state: state, noState: noState)
    }
    let state = place(for: folder)?.open { ShareText.say($0) }
    let lane = SerialLane(on: LaneCrew(name: "headgate-serve", size: 1))
    let server: PermitServer?
    // A page that comes and goes would be of no use.
    let linger = metrics == nil ? linger : max(linger, .seconds(1 << 30))
    do throws(SharingError) { server = try PermitServer.start(in: folder, linger: linger, state: state) } catch {
      throw FetchProblem("\(error)")
    }
    guard let server else {
      guard let metrics else { return ShareText.say("another server already serves \(folder)") }
      throw FetchProblem(
        "another server already serves \(folder), without a page at \(metrics); try again when it has ended, ten seconds "
          + "after its last program")
    }
    let signals = InterruptSignals([SIGINT, SIGTERM, SIGHUP]) { server.stop() }
    let page: MetricsPage?
    do { page = try metrics.map { try MetricsPage(at: $0, of: folder) } } catch {
      server.stop()
      throw error
    }
    try await lane.perform { () throws(SystemError) in server.wait() }
    page?.stop()
    signals.cancel()
  }
}

/// `headgate share init`: the limits of a namespace in Redis.
struct ShareInitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Set the limits that programs share through Redis.",
    discussion: """
      The limits apply in place of the programs' own limits. On an unused Redis server they also let the first program \
      start without waiting for the length of a lease. Limits change only with a higher --version.

      EXAMPLES
        headgate share init redis://limits.example:6379#crawl \\
          --limit api.example.com:443=8
      """
  )

  @Argument(
    help: ArgumentHelp(
      "The server, and after # the namespace. (default namespace: headgate)", valueName: "redis://host:port"),
    transform: OptionValue.share)
  var share: ShareRule

  @Option(
    help: ArgumentHelp("The limit of an end-point. Repeatable.", valueName: "host:port=n"),
    transform: OptionValue.endPointLimit)
  var limit: [EndPointLimit] = []

  @Option(help: ArgumentHelp("The version of these limits. (default: 1)", valueName: "n"), transform: OptionValue.count)
  var version = 1

  @Option(
    help: ArgumentHelp(
      "How long the permits of a program stay counted after its lease has ended without a release: choose the sum of "
        + "the longest pause of a program and the longest request. (default: 0)", valueName: "seconds"),
    transform: OptionValue.quarantine)
  var quarantine: Duration = .zero

  func validate() throws {
    guard quarantine == .zero || !limit.isEmpty else {
      throw ValidationError("--quarantine belongs to a limit: give --limit too")
    }
  }

  func run() async throws {
    guard case .redis(let url) = share else {
      throw FetchProblem("only Redis stores limits; give redis://HOST:PORT", status: .usage)
    }
    let limits = Dictionary(limit.map { ($0.endPoint, $0.limits) }) { $1 }
    let set = try RedisShare.configure(url, version: version, limits, quarantine: quarantine)
    // Each end-point has two rules, one of them for its long lane.
    guard set < 2 * limits.count else {
      return ShareText.say("the namespace is ready; end-points with a limit: \(limits.count)")
    }
    throw FetchProblem(
      "\(set / 2) of \(limits.count) limits were set: those of the others have version \(version) or a higher one; give a "
        + "higher --version", status: .mixed)
  }
}

/// The limit of an end-point.
struct EndPointLimit: Hashable, Sendable {
  let endPoint: EndPoint
  let limits: EndPointLimits
}

extension OptionValue {
  /// Zero to 86,400 seconds.
  static func quarantine(_ text: String) throws(OptionError) -> Duration {
    let duration = try secondsOrNone(text)
    guard duration <= .seconds(86_400) else { throw OptionError("at most 86400 seconds") }
    return duration
  }

  /// `host:port=n`.
  static func endPointLimit(_ text: String) throws(OptionError) -> EndPointLimit {
    guard let sign = text.lastIndex(of: "=") else { throw OptionError("write it as api.example.com:443=8") }
    let requests = try count(String(text[text.index(after: sign)...]))
    let endPoint = try endPoint(String(text[..<sign]))
    do throws(LimitError) {
      return EndPointLimit(endPoint: endPoint, limits: try EndPointLimits(requests: requests))
    } catch {
      throw OptionError("\(error)")
    }
  }
}

enum ShareText {
  /// Writes a message for the user.
  static func say(_ text: String) {
    try? Descriptor.write(Array((HeadgateCommandLine.harmless("headgate: \(text)") + "\n").utf8), to: 2)
  }
}
