import ArgumentParser

/// Options that users of curl and wget type and that mean nothing here, or something else: each is named, with what to
/// use instead. None of them is taken and passed over.
struct CurlOptions: ParsableArguments {
  @Option(name: [.customShort("u", allowingJoined: true), .customLong("user")], help: .hidden)
  var user: String?

  @Option(name: [.customShort("X", allowingJoined: true), .customLong("request")], help: .hidden)
  var request: String?

  @Option(name: [.customShort("d", allowingJoined: true), .long], help: .hidden)
  var data: String?

  @Option(name: [.customShort("o", allowingJoined: true), .customLong("output")], help: .hidden)
  var output: String?

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

  @Flag(name: [.customShort("L"), .customLong("location")], help: .hidden)
  var location = false

  @Flag(name: [.customShort("f"), .customLong("fail")], help: .hidden)
  var fail = false

  @Flag(name: [.customShort("s"), .customLong("silent")], help: .hidden)
  var silent = false

  @Flag(name: [.customShort("c"), .customLong("continue")], help: .hidden)
  var goOn = false

  @Flag(name: [.customShort("n")], help: .hidden)
  var netrc = false

  @Flag(name: [.customShort("Z"), .customLong("parallel")], help: .hidden)
  var parallel = false

  func validate() throws {
    if let first = advice.first { throw ValidationError(first) }
  }

  /// What is said of those that were given. Never with their values, which may be secret.
  private var advice: [String] {
    let curl = "fetch asks by GET and sends no body; curl does that."
    let all: [(Bool, String)] = [
      (
        user != nil,
        "-u is not taken: all who may list processes could read it, and every host of the list would get it. Give "
          + "--netrc-file FILE or --netrc, or --header-env Authorization=VARIABLE."
      ),
      (request != nil, "-X is not taken: " + curl),
      (data != nil, "-d is not taken: " + curl),
      (head, "-I is not taken: " + curl),
      (
        output != nil,
        "-o is not taken: give -P DIR or -O for a file from each URL, named after it; or > FILE for all bodies in the "
          + "order of the list."
      ),
      (proxy != nil, "-x is not taken: give --proxy URL."),
      (tries != nil, "--tries is not taken: give --retry N, which counts without the first time."),
      (parallelMax != nil, "--parallel-max is not taken: give -j N for all hosts together, --per-host N for each."),
      (parallelMaxHost != nil, "--parallel-max-host is not taken: give --per-host N."),
      (location, "-L is not needed: redirects are followed, --max-redirs of them. Leave it out."),
      (fail, "-f is not needed: a status that is not 2xx is an error. Leave it out."),
      (silent, "-s is not taken: give -q, which still says what failed."),
      (goOn, "-c is not taken: give --session FILE, which goes on with what an earlier run has left."),
      (netrc, "-n is not taken: give --netrc."),
      (parallel, "-Z is not needed: URLs are fetched at the same time, --per-host of each host. Leave it out."),
    ]
    return all.filter(\.0).map(\.1)
  }
}
