import ArgumentParser
import HeadgateDispatch

/// How many requests run at once, and how long they may take.
struct LimitOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Concurrent requests per host and port. Two names of one machine count as two hosts. (default: 6)",
      valueName: "n"
    ),
    transform: OptionValue.count
  )
  var perHost = EndPointLimits.standard.requests

  @Option(
    name: .customLong("limit"),
    help: ArgumentHelp(
      "Concurrent requests for the hosts of a pattern, in place of --per-host: a host, *.domain or *, "
        + "optionally with :port. The most specific pattern applies. With the name of a --group, for all of its hosts "
        + "together. Repeatable.",
      valueName: "host=n"
    ),
    transform: OptionValue.rule
  )
  var rules: [HostRule] = []

  @Option(
    name: .customLong("group"),
    help: ArgumentHelp(
      "A name for hosts that have one budget together, such as the servers of one operator: patterns as for --limit, "
        + "separated by commas. --limit and --rate set the budget by the name. The limits of each host apply too. "
        + "Repeatable.",
      valueName: "name=hosts"
    ),
    transform: OptionValue.group
  )
  var groups: [HostGroups.Rule] = []

  @Option(
    name: [.customShort("j", allowingJoined: true), .customLong("jobs")],
    help: ArgumentHelp(
      "Concurrent requests in total. (default: as many as the limit of open files allows)", valueName: "n"),
    transform: OptionValue.count
  )
  var jobs: Int?

  @Option(
    name: [.customShort("m", allowingJoined: true), .long],
    help: ArgumentHelp(
      "Time limit for a request, redirects included. Waiting in the queue does not count.",
      valueName: "seconds"
    ),
    transform: OptionValue.seconds
  )
  var maxTime: Duration?

  @Option(help: ArgumentHelp("Time limit for the whole run.", valueName: "seconds"), transform: OptionValue.seconds)
  var deadline: Duration?

  @Option(
    help: ArgumentHelp(
      "Time limit for making a connection: name look-up, TCP and TLS. (default: 30)", valueName: "seconds"),
    transform: OptionValue.seconds
  )
  var connectTimeout: Duration = .seconds(30)

  @Option(
    help: ArgumentHelp("The longest time without any data from the server. (default: 120)", valueName: "seconds"),
    transform: OptionValue.seconds
  )
  var idleTimeout: Duration = .seconds(120)

  /// The total limit of concurrent requests.
  func total() throws -> Int {
    guard let jobs else { return GateLimits.defaultTotal }
    let most = GateLimits.mostTotal
    guard jobs <= most else {
      throw ValidationError(
        "-j \(jobs) needs more open files than this process may have; its limit allows -j \(most). "
          + "Raise the limit with ulimit -n, or lower -j."
      )
    }
    return jobs
  }
}
