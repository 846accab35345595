import ArgumentParser
import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import Testing

@testable import HeadgateCommand

@Suite struct OptionTests {
  private func options(_ arguments: String...) throws -> FetchOptions {
    try FetchCommand.parse(arguments).options()
  }

  @Test func `Defaults are those of the help`() throws {
    let options = try options("http://a/")
    #expect(options.urls == ["http://a/"])
    #expect(options.target == .output)
    #expect(options.perHost.requests == 6)
    #expect(options.maxTime == nil)
    #expect(options.deadline == nil)
    #expect(options.connectTimeout == .seconds(30))
    #expect(options.idleTimeout == .seconds(120))
    let request = try options.request("http://a/")
    #expect(request.timeout == nil)
  }

  @Test func `Options take effect in the request`() throws {
    let options = try options(
      "-i",
      "-",
      "-P",
      "out",
      "--per-host",
      "2",
      "-j",
      "8",
      "--max-time",
      "0.5",
      "--connect-timeout",
      "3",
      "--idle-timeout",
      "7",
      "-H",
      "X-A: b c",
      "-H",
      "X-A:d",
      "-q"
    )
    #expect(options.lists == ["-"])
    #expect(options.target == .folder("out"))
    #expect(options.perHost.requests == 2)
    #expect(options.total == 8)
    let request = try options.request("http://a/")
    #expect(request.timeout == .milliseconds(500))
    #expect(request.connectTimeout == .seconds(3))
    #expect(request.idleTimeout == .seconds(7))
    #expect(request.headerFields.map(\.value) == ["b c", "d"])
    #expect(options.verbosity == .quiet)
  }

  @Test func `Sizes accept letters as units`() throws {
    for (text, size) in [("1", 1), ("64K", 65_536), ("10m", 10 << 20), ("4G", 4 << 30)] {
      #expect(try OptionValue.size(text) == size)
    }
    for text in ["", "K", "1.5M", "1T", "-1K", "+", "9007199254740993G", "１"] {
      #expect(throws: OptionError.self) { try OptionValue.size(text) }
    }
  }

  @Test func `Limits on redirects, sizes and speed take effect`() throws {
    let options = try options(
      "--max-redirs", "3", "--max-filesize", "10K", "--speed-limit", "1K", "--speed-time", "5", "--max-held", "1M",
      "http://a/")
    #expect(options.maxHeld == 1 << 20)
    let request = try options.request("http://a/")
    #expect(request.maxRedirects == 3)
    #expect(request.maxDownloadBytes == 10_240)
    #expect(request.minimumSpeed == TransferSpeed(bytesPerSecond: 1024, over: .seconds(5)))
    #expect(request.redirects.refusesPrivateAddresses)
  }

  @Test func `The limit or the time of the speed alone implies the other, as with curl`() throws {
    #expect(try options("http://a/").minimumSpeed == nil)
    #expect(
      try options("--speed-limit", "5", "http://a/").minimumSpeed
        == TransferSpeed(bytesPerSecond: 5, over: .seconds(30)))
    #expect(
      try options("--speed-time", "5", "http://a/").minimumSpeed == TransferSpeed(bytesPerSecond: 1, over: .seconds(5)))
  }

  @Test func `The minimum version of TLS takes effect`() throws {
    func version(_ arguments: String...) throws -> CurlTLSVersion {
      try ConnectionOptions.parse(arguments).configuration(nil).minimumTLS
    }
    #expect(try version() == .tls12)
    #expect(try version("--tlsv1.2") == .tls12)
    #expect(try version("--tlsv1.3") == .tls13)
    #expect(try version("--tlsv1.2", "--tlsv1.3") == .tls13)
  }

  @Test func `Limits of some hosts take effect, and the last one for a pattern counts`() throws {
    let options = try options(
      "--limit", "*.Example.com=2", "--limit", "a.example:81=9", "--limit", "*.example.com=3", "http://a/")
    #expect(options.rules[try HostPattern("*.example.com")]?.requests == 3)
    #expect(options.rules[try HostPattern("a.example:81")]?.requests == 9)
    #expect(options.rules.count == 2)
  }

  @Test func `Rates apply to all hosts, or to those of a pattern with its limit on requests`() throws {
    let options = try options(
      "--per-host", "4", "--rate", "10/s", "--rate", "100/min", "--rate", "a.example=2/s", "--rate", "b.example=3/h",
      "--limit", "b.example=7", "--limit", "c.example=8", "--min-interval", "0.5", "http://a/")
    #expect(options.perHost.requests == 4 && options.perHost.rates.map(\.description) == ["10/s", "100/min"])
    let rules = try ["a.example", "b.example", "c.example"].map { options.rules[try HostPattern($0)] }
    #expect(rules.map { $0?.requests } == [4, 7, 8])
    #expect(rules.map { $0?.rates.map(\.description) } == [["2/s"], ["3/h"], ["10/s", "100/min"]])
    #expect(rules.allSatisfy { $0?.minimumInterval == .milliseconds(500) })
  }

  @Test func `A rate or limit of a wider pattern applies to a host that has only the other one of its own`() throws {
    let options = try options(
      "--rate", "*.a.example=2/s", "--limit", "x.a.example=3", "--limit", "*.b.example=4", "--rate", "x.b.example=9/s",
      "--rate", "a.example=7/s", "http://a/")
    let rules = try ["x.a.example", "x.b.example", "a.example"].map { options.rules[try HostPattern($0)] }
    #expect(rules.map { $0?.requests } == [3, 4, options.perHost.requests])
    #expect(rules.map { $0?.rates.map(\.description) } == [["2/s"], ["9/s"], ["7/s"]])
  }

  @Test func `A bandwidth is that of all transfers, or of each host of a pattern with its other limits`() throws {
    let options = try options(
      "--limit-rate", "1M", "--limit-rate", "20M", "--limit-rate", "*.a.example=5K", "--rate", "x.a.example=2/s",
      "--limit-rate", "b.example=9", "http://a/")
    #expect(options.bandwidth == 20 << 20 && options.perHost.bandwidth == nil)
    let rules = try ["*.a.example", "x.a.example", "b.example"].map { options.rules[try HostPattern($0)] }
    #expect(rules.map { $0?.bandwidth } == [5 << 10, 5 << 10, 9])
    #expect(rules.map { $0?.rates.count } == [0, 1, 0] && rules[0]?.minimumInterval == .milliseconds(20))
    for text in ["0", "a=", "=5", "a.*=5", "5/s"] {
      #expect(throws: OptionError.self) { try OptionValue.bandwidth(text) }
    }
  }

  @Test func `Starts at a host have a minimum interval, unless another one is set or it is this machine`() throws {
    let usual = try options("--limit", "a.example=2", "--rate", "b.example=9/s", "http://a/")
    let rules = try ["a.example", "b.example"].map { usual.rules[try HostPattern($0)]?.minimumInterval }
    #expect(usual.perHost.minimumInterval == .milliseconds(20) && rules == [.milliseconds(20), .zero])
    #expect(usual.sparesLoopback)
    // Plus a random addition of up to half as much.
    #expect(try usual.perHost == usual.perHost.with(minimumInterval: .milliseconds(20), jitter: 0.5))
    #expect(try usual.perHost != usual.perHost.with(minimumInterval: .milliseconds(20), jitter: 0))
    #expect(try options("--rate", "10/s", "http://a/").perHost.minimumInterval == .zero)
    let off = try options("--min-interval", "0", "http://a/")
    #expect(off.perHost.minimumInterval == .zero && !off.sparesLoopback)
    for (url, isLoopback) in [
      ("http://localhost:81/", true), ("http://A.LocalHost/", true), ("http://127.0.0.1/", true),
      ("http://127.9.8.7/", true), ("http://[::1]:80/", true), ("http+unix://%2Frun%2Fx/", true),
      ("http://127.example/", false), ("http://10.0.0.1/", false), ("http://localhost.example/", false),
    ] {
      #expect(try EndPoint(url).isLoopback == isLoopback, "\(url)")
    }
  }

  @Test func `Pauses and the circuit breaker are on, unless disabled`() throws {
    let usual = try options("--retry", "1", "http://a/")
    #expect(usual.pauses == PausePolicy(patience: .seconds(900)) && usual.breaker?.failures == 3)
    #expect(try usual.request("http://a/").retry?.ignoresRetryAfter == false)
    #expect(try options("--retry-after", "honour", "http://a/").pauses == usual.pauses)
    #expect(try options("--retry-after", "cap:30", "http://a/").pauses == PausePolicy(maxPause: .seconds(30)))
    #expect(try options("--host-patience", "2h", "http://a/").pauses?.patience == .seconds(7200))
    #expect(try options("--host-patience", "0", "http://a/").pauses == PausePolicy(maxPause: .seconds(86_400)))
    let capped = try options("--host-patience", "90", "--retry-after", "cap:30", "http://a/")
    #expect(capped.pauses == PausePolicy(maxPause: .seconds(30), patience: .seconds(90)))
    let ignoring = try options("--retry-after", "ignore", "--host-failures", "0", "--retry", "1", "http://a/")
    #expect(ignoring.pauses == nil && ignoring.breaker == nil)
    #expect(try ignoring.request("http://a/").retry?.ignoresRetryAfter == true)
  }

  @Test func `Three retries are made, unless another number is given`() throws {
    #expect(try options("http://a/").request("http://a/").retry?.attempts == 4)
    #expect(try options("--retry", "0", "http://a/").request("http://a/").retry == nil)
    let policy = try #require(try options("--retry", "4", "http://a/").request("http://a/").retry)
    #expect(policy.attempts == 5)
    guard case .none = policy.budget else {
      Issue.record("a budget: \(policy.budget)")
      return
    }
  }

  @Test func `-O is the current folder, and -P another`() throws {
    #expect(try options("-O", "http://a/").target == .folder("."))
    #expect(try options("-O", "-P", "x", "http://a/").target == .folder("x"))
  }

  @Test(arguments: [
    [], ["--per-host", "0", "http://a/"], ["--per-host", "x", "http://a/"], ["-j", "0", "http://a/"],
    ["-j", "99999999", "http://a/"], ["--max-time", "0", "http://a/"], ["--max-time", "-1", "http://a/"],
    ["--limit", "a.example", "http://a/"], ["--limit", "a.example=0", "http://a/"], ["--limit", "a.*=2", "http://a/"],
    ["--limit", "=2", "http://a/"], ["--retry", "-1", "http://a/"], ["--retry", "1001", "http://a/"],
    ["--retry", "x", "http://a/"], ["--host-patience", "15x", "http://a/"], ["--host-patience", "m", "http://a/"],
    ["--host-patience", "-1", "http://a/"], ["--host-patience", "nan", "http://a/"],
    ["--rate", "10", "http://a/"], ["--rate", "0/s", "http://a/"], ["--rate", "a.*=1/s", "http://a/"],
    ["--rate", "=1/s", "http://a/"], ["--min-interval", "-1", "http://a/"], ["--retry-after", "never", "http://a/"],
    ["--retry-after", "cap:0", "http://a/"], ["--host-failures", "-1", "http://a/"],
    ["--max-time", "nan", "http://a/"], ["--deadline", "inf", "http://a/"],
    ["-H", "nocolon", "http://a/"],
    ["-H", "a b: c", "http://a/"], ["-H", ": c", "http://a/"], ["-H", "a: b\r\nc: d", "http://a/"],
    ["-H", "Content-Length: 1", "http://a/"], ["-q", "-v", "http://a/"], ["--overwrite", "http://a/"],
    ["--insecure", "--cacert", "x", "http://a/"], ["-i", "-", "-i", "-"],
    ["--proxy", "ftp://p", "http://a/"], ["--proxy", "p:x", "http://a/"], ["--key", "x", "http://a/"],
    ["--pass", "x", "http://a/"], ["--unix-socket", "relative", "http://a/"], ["--cookie-jar", "", "http://a/"],
    ["--log", "-", "http://a/"],
    ["-H", "@", "http://a/"], ["--header-env", "X", "http://a/"], ["--header-env", "X=", "http://a/"],
    ["--header-env", "X Y=Z", "http://a/"],
    ["--netrc-file", "", "http://a/"], ["--max-redirs", "-1", "http://a/"], ["--redirects", "some", "http://a/"],
    ["--proto-redir", "https", "http://a/"], ["--proto-redir", "=ftp", "http://a/"],
    ["--proto-redir", "=", "http://a/"],
    ["--max-filesize", "0", "http://a/"], ["--max-filesize", "x", "http://a/"],
    ["--max-held", "9999999999G", "http://a/"],
    ["--speed-limit", "-1", "http://a/"], ["--speed-time", "0", "http://a/"], ["--http1.1", "http://a/"],
    ["--cert", "x", "--pass", "env:", "http://a/"],
    ["--unix-socket", "/run/x.sock", "http+unix://%2Frun%2Fy.sock/"],
    ["--session", "x", "http://a/"], ["--session", "", "-O", "http://a/"], ["--retry-failed", "-O", "http://a/"],
    ["-N", "-O", "http://a/"], ["-s", "-v", "http://a/"],
    ["--shard", "0/3", "http://a/"], ["--shard", "4/3", "http://a/"], ["--shard", "a/b", "http://a/"],
    ["--check", "-O", "http://a/"],
    ["-P", "", "http://a/"], ["foo"], ["http://a/", "ftp://b/"], ["--nope", "http://a/"],
    ["--max-failures", "0", "http://a/"],
    ["-O", "-o", "x", "http://a/"], ["-o", "../x", "http://a/"], ["-o", "/x", "http://a/"],
    ["-o", "{nope}", "http://a/"], ["-o", "", "http://a/"],
    ["--content-disposition", "http://a/"], ["--content-disposition", "-O", "--session", "x", "http://a/"],
    ["-X", "a b", "http://a/"], ["-X", "", "http://a/"], ["-X", "CONNECT", "http://a/"],
    ["-d", "x", "--json", "1", "http://a/"], ["-d", "@-", "-i", "-", "http://a/"],
    ["-d", "@-", "-d", "@-", "http://a/"], ["--json", "{", "http://a/"], ["-d", "@", "http://a/"],
    ["--retry", "0", "--retry-unsafe", "http://a/"], ["-N", "-d", "x", "-O", "--session", "x", "http://a/"],
    ["-N", "-X", "PUT", "-O", "--session", "x", "http://a/"],
  ])
  func `Misuse is reported before anything is fetched`(arguments: [String]) async {
    // The root command's parsing, with the exit status of the process, which has no other cause.
    #expect(await HeadgateCommandLine.run(["fetch"] + arguments) == 2)
  }

  @Test(arguments: ["--report", "--session", "--cookie-jar", "--adaptive-file"])
  func `A file that a run writes has a name, and is no stream`(option: String) {
    #expect(message(option, "", "-O", "http://a/").contains("\(option) needs the name of a file."))
    #expect(
      message(option, "-", "-O", "http://a/").contains("\(option) needs the name of a file; - has no meaning here"))
    #expect(!message(option, "./-", "-O", "http://a/").contains("needs the name of a file"))
  }

  @Test func `A list and a log have a name or are a stream`() {
    #expect(message("-i", "", "-O").contains("-i needs the name of a file; - is standard input."))
    #expect(message("--log", "", "-O", "http://a/").contains("--log needs the name of a file; - is standard output."))
  }

  private func message(_ arguments: String...) -> String {
    do {
      _ = try RootCommand.parseAsRoot(["fetch"] + arguments)
      return ""
    } catch {
      return RootCommand.fullMessage(for: error)
    }
  }

  @Test func `An unknown option is named, without its value`() {
    #expect(message("--nope", "x", "http://a/").contains("Unknown option '--nope'"))
    #expect(message("-Q", "ada:secret", "http://a/").contains("Unknown option '-Q'"))
  }

  @Test(arguments: [
    (["-G"], "after a ?"),
    (["--data-urlencode", "secret"], "with -d"), (["--data-urlencode=secret"], "with -d"), (["-I"], "give --check"),
    (["-x", "p"], "--proxy"), (["-c"], "--session"),
    (["--parallel-max-host", "3"], "--per-host"),
  ])
  func `Common options of curl are recognized, and the error names the replacement`(arguments: [String], said: String) {
    let text = message(arguments[0], arguments.dropFirst().first ?? "http://b/", "http://a/")
    #expect(text.contains(said), "\(text)")
    #expect(!text.contains("secret"))
  }

  @Test func `Options of curl that ask for what is so already are accepted`() throws {
    for flags in [["-fsSL", "-Z"], ["--fail", "--silent", "--show-error", "--location", "--parallel"]] {
      let options = try FetchCommand.parse(flags + ["http://a/"]).options()
      #expect(options.verbosity == .quiet && options.maxRedirects == 20)
    }
    #expect(try FetchCommand.parse(["-fL", "http://a/"]).options().verbosity == .normal)
  }

  @Test func `Common options of curl are accepted if possible`() throws {
    let options = try options("-j1", "-k", "-A", "me/1", "-Pout", "-m5", "http://a/")
    #expect(options.total == 1 && options.target == .folder("out") && options.maxTime == .seconds(5))
    #expect(options.connection?.insecure == true)
    #expect(try options.request("http://a/").headerFields[.userAgent] == "me/1")
  }

  @Test func `The variables of curl and OpenSSL name the authorities, and options take precedence`() throws {
    let folder = try TemporaryFolder()
    try folder.write("", to: "pem")
    let pem = folder.file("pem")
    let all = ["CURL_CA_BUNDLE": pem, "SSL_CERT_FILE": "/nonexistent/pem", "SSL_CERT_DIR": "/certs"]
    func trust(_ variables: [String: String], _ arguments: String...) throws -> CurlTrust {
      try ConnectionOptions.parse(arguments).trust { variables[$0] }
    }
    #expect(try trust([:]) == .system)
    #expect(try trust(all) == .authority(file: pem))
    #expect(try trust(["CURL_CA_BUNDLE": "", "SSL_CERT_FILE": pem]) == .authority(file: pem))
    #expect(try trust(["SSL_CERT_DIR": "/certs"]) == .authorities(folder: "/certs"))
    #expect(try trust(all, "--cacert", "x") == .authority(file: "x"))
    #expect(try trust(all, "-k") == .insecure)
    let error = #expect(throws: FetchProblem.self) { try trust(["SSL_CERT_FILE": "/nonexistent/pem"]) }
    #expect(error?.description.contains("which SSL_CERT_FILE names, can't be read") == true)
  }

  @Test func `Cookies that are given several times are all sent, beside those of one file`() throws {
    let both = try options("-b", "a=b", "-b", "jar", "-b", "c=d; e=f", "http://a/")
    #expect(both.connection?.cookieField == "a=b; c=d; e=f" && both.connection?.cookieFile == "jar")
    #expect(both.connection?.keepsCookies == true)
    #expect(try both.request("http://a/").headerFields[.cookie] == "a=b; c=d; e=f")
    let literal = try options("-b", "a=b", "-b", "c=d", "http://a/")
    #expect(literal.connection?.keepsCookies == false && literal.connection?.cookieFile == nil)
    #expect(try options("-b", "", "http://a/").connection?.keepsCookies == true)
    #expect(message("-b", "one", "-b", "two", "http://a/").contains("-b can name one cookie file"))
  }

  @Test func `The log may be the standard output only if bodies go to files`() throws {
    #expect(try options("--log", "-", "-O", "http://a/").log == "-")
    #expect(message("--log", "-", "http://a/").contains("give -P DIR, -O or -o too"))
  }

  @Test func `Help and version are not errors`() async {
    #expect(await HeadgateCommandLine.run(["--version"]) == 0)
    #expect(await HeadgateCommandLine.run(["fetch", "--help"]) == 0)
    for arguments in [["help"], ["help", "fetch"], ["help", "share", "init"], ["--help"], ["-h"]] {
      #expect(await HeadgateCommandLine.run(arguments) == 0, "\(arguments)")
    }
  }

  @Test func `Help on something that is not a subcommand is misuse`() async {
    #expect(await HeadgateCommandLine.run(["help", "nosuch"]) == 2)
    #expect(await HeadgateCommandLine.run(["nosuch"]) == 2)
  }

  @Test func `A missing list is an error of files`() async {
    #expect(await HeadgateCommandLine.run(["fetch", "-i", "/nonexistent/list"]) == 3)
  }
}
