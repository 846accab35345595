import ArgumentParser
import HeadgateDispatch

/// Limits that hold for several programs together.
struct ShareOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Share --per-host, --limit, --rate and weights with other programs: unix, with your programs on this machine; "
        + "unix:/FOLDER, with those that use the same folder; redis://HOST:PORT#NAME, with all programs of that name "
        + "at that server (the password in $HEADGATE_REDIS_PASSWORD). If programs give different limits, the "
        + "strictest apply.",
      valueName: "with"
    ), completion: .list(["unix", "unix:", "redis://"]),
    transform: OptionValue.share
  )
  var share: ShareRule?

  @Option(
    help: ArgumentHelp(
      "What to do while the server of --share can't be reached: closed[:SECONDS], start nothing, and fail requests that "
        + "have waited this long; divide, use the limit divided by the number of programs; open:N, run N per host. "
        + "(default: closed:30)",
      valueName: "how"
    ), completion: .list(["closed", "closed:", "divide", "open:"]),
    transform: OptionValue.outage
  )
  var shareOutage: OutagePolicy?

  func validate() throws {
    guard share != nil || shareOutage == nil else {
      throw ValidationError("--share-outage applies only with --share; give --share too.")
    }
  }
}
