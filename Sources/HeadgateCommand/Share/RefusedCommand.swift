import ArgumentParser
import HeadgateDispatch
import HeadgateLibC
import HeadgateSharing
import HeadgateThreads

/// `headgate refused`: tells all programs of a refusal that a script has met.
struct RefusedCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "refused",
    abstract: "Tell that an end-point has refused a request, so that all programs pause.",
    discussion: """
      For scripts and programs that see a 429 or 503 themselves. Programs that share permits, and every headgate hold, \
      then start nothing at END-POINT until the time has passed. After that one starts as a probe, and the others \
      follow. Without --share, the permit server is told if one runs, and later runs of fetch and call find the pause \
      in the state folder.

      EXAMPLES
        headgate refused api.example.com:443 --retry-after 60
        headgate refused https://api.example.com/v1 --share unix
      """
  )

  @Argument(help: ArgumentHelp("host:port, or a URL.", valueName: "end-point"), transform: OptionValue.endPoint)
  var endPoint: EndPoint

  @Option(
    help: ArgumentHelp(
      "How long the end-point asks to be left alone, at most 86400. (default: 1)", valueName: "seconds"),
    transform: OptionValue.seconds)
  var retryAfter: Duration?

  @Option(help: ArgumentHelp("The status of the refusal, for messages.", valueName: "n"), transform: OptionValue.status)
  var status: Int?

  @Option(
    help: ArgumentHelp("Tell those who share in this way, and nobody else: as in fetch.", valueName: "with"),
    completion: .list(["unix", "unix:", "redis://"]), transform: OptionValue.share)
  var share: ShareRule?

  @Option(
    help: ArgumentHelp(
      "The folder for later runs. (default: $XDG_STATE_HOME/headgate, or else ~/.local/state/headgate)",
      valueName: "folder"), completion: .directory)
  var state: String?

  func validate() throws {
    guard share == nil || state == nil else {
      throw ValidationError("--share and --state can't be combined; give one of them.")
    }
    guard state != "" else { throw ValidationError("--state needs the name of a folder; . is the current one.") }
  }

  func run() async throws {
    guard let pause = SharedPause.refused(by: endPoint, retryAfter: retryAfter, status: status) else { return }
    switch share {
    case .redis(let url)?: try RedisShare.tell(pause, url)
    case .unix(let folder)?: _ = try Self.tell(pause, folder, mustRun: true)
    case nil:
      let isTold = try state == nil && Self.tell(pause, .user, mustRun: false)
      let isKept = try keep(pause)
      if !isTold, !isKept {
        ShareText.say(
          "nobody was told: no permit server runs, and nothing is kept of \(endPoint); see --share and --state"
        )
      }
    }
  }

  /// Returns whether a server was told.
  ///
  /// - Parameter mustRun: Whether a server is started if none runs.
  static func tell(_ pause: SharedPause, _ folder: PermitFolder, mustRun: Bool) throws(FetchProblem) -> Bool {
    let patience = Deadline.after(.seconds(30))
    do throws(SharingError) {
      while true {
        switch try PermitPauses.tell(pause, in: folder) {
        case .told: return true
        case .earlierServer:
          ShareText.say("the permit server in \(folder) is of an earlier version, which does not share pauses")
          return false
        case .noServer where !mustRun: return false
        case .noServer:
          guard patience > .now else { throw SharingError(folder, "no server answers") }
          try ShareServerProcess.start(in: folder)
          // A server that has just been started needs a moment until it listens.
          _ = poll(nil, 0, 20)
        }
      }
    } catch {
      throw FetchProblem("\(error)")
    }
  }

  /// Returns false if nothing is kept of the end-point.
  private func keep(_ pause: SharedPause) throws(FetchProblem) -> Bool {
    guard let place = state.map({ StatePlace(folder: $0, isChosen: true) }) ?? .usual() else { return false }
    let problem = LockedBox<String?>(nil)
    let state = place.open { text in problem.withLock { $0 = text } }
    state.remember(pause)
    if let text = problem.withLock({ $0 }) { throw FetchProblem(text) }
    return state.keeps(endPoint)
  }
}

extension OptionValue {
  /// The status of a refusal: `429`.
  static func status(_ text: String) throws(OptionError) -> Int {
    guard let value = Int(text), (400...599).contains(value) else { throw OptionError("give a status such as 429") }
    return value
  }
}
