import ArgumentParser
import HeadgateDispatch

/// How many requests run at once, and how long each may take.
struct LimitOptions: ParsableArguments {
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
    name: [.customShort("j", allowingJoined: true), .customLong("jobs")],
    help: ArgumentHelp("Requests at once in all; unless given, what open files leave room for.", valueName: "n"),
    transform: OptionValue.count
  )
  var jobs: Int?

  @Option(
    name: [.customShort("m", allowingJoined: true), .long],
    help: ArgumentHelp(
      "The most time for a request, redirects included; waiting for its turn never counts.",
      valueName: "seconds"
    ),
    transform: OptionValue.seconds
  )
  var maxTime: Duration?

  @Option(help: ArgumentHelp("The most time for the whole run.", valueName: "seconds"), transform: OptionValue.seconds)
  var deadline: Duration?

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

  /// The most requests at once in all.
  func total() throws -> Int {
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
}
