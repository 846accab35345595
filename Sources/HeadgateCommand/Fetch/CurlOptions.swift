import ArgumentParser

/// Options of curl and wget that do not exist here or have another meaning. One that asks for what is so already is
/// accepted; any other is refused with a message that names the replacement.
struct CurlOptions: ParsableArguments {
  @Option(name: .customLong("data-urlencode"), help: .hidden)
  var encoded: String?

  @Flag(name: [.customShort("G"), .customLong("get")], help: .hidden)
  var get = false

  @Option(name: [.customShort("x", allowingJoined: true)], help: .hidden)
  var proxy: String?

  @Option(name: [.customLong("tries")], help: .hidden)
  var tries: String?

  @Option(name: [.customLong("parallel-max")], help: .hidden)
  var parallelMax: String?

  @Option(name: [.customLong("parallel-max-host")], help: .hidden)
  var parallelMaxHost: String?

  @Flag(name: [.customShort("I"), .customLong("head")], help: .hidden)
  var head = false

  /// Up to `--max-redirs` redirects are followed.
  @Flag(name: [.customShort("L"), .customLong("location")], help: .hidden)
  var location = false

  /// A status other than 2xx is always an error.
  @Flag(name: [.customShort("f"), .customLong("fail")], help: .hidden)
  var fail = false

  /// The same as `-q`.
  @Flag(name: [.customShort("s"), .customLong("silent")], help: .hidden)
  var silent = false

  /// Errors are always reported.
  @Flag(name: [.customShort("S"), .customLong("show-error")], help: .hidden)
  var showError = false

  @Flag(name: [.customShort("c"), .customLong("continue")], help: .hidden)
  var goOn = false

  @Flag(name: [.customShort("n")], help: .hidden)
  var netrc = false

  /// URLs are always fetched concurrently.
  @Flag(name: [.customShort("Z"), .customLong("parallel")], help: .hidden)
  var parallel = false

  func validate() throws {
    if let first = advice.first { throw ValidationError(first) }
  }

  /// The advice for the given options. Never contains their values, which may be secret.
  private var advice: [String] {
    let all: [(Bool, String)] = [
      (encoded != nil, "--data-urlencode is not supported: percent-encode the value, and give it with -d."),
      (get, "-G is not supported: write the data of -d into the URLs, after a ?."),
      (head, "-I is not supported: give --check for the status of each URL, without its body."),
      (proxy != nil, "-x is not supported: give --proxy URL for a proxy, --per-host N for connections to a host."),
      (tries != nil, "--tries is not supported: give --retry N, which does not count the first attempt."),
      (parallelMax != nil, "--parallel-max is not supported: give -j N for all hosts, or --per-host N for each host."),
      (parallelMaxHost != nil, "--parallel-max-host is not supported: give --per-host N."),
      (
        goOn, "-c is not supported: give --session FILE to continue an earlier run, --cookie-jar FILE to keep cookies."
      ),
      (netrc, "-n is not supported: give --netrc."),
    ]
    return all.filter(\.0).map(\.1)
  }
}
