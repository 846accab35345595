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

  @Test func `What nobody said is as the help says`() throws {
    let options = try options("http://a/")
    #expect(options.urls == ["http://a/"])
    #expect(options.target == .output)
    #expect(options.perHost == .standard)
    #expect(options.maxTime == nil)
    #expect(options.deadline == nil)
    #expect(options.connectTimeout == .seconds(30))
    #expect(options.idleTimeout == .seconds(120))
    let request = try options.request("http://a/")
    #expect(request.timeout == nil)
  }

  @Test func `What was said arrives in the request`() throws {
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

  @Test func `Sizes have letters for their units`() throws {
    for (text, size) in [("1", 1), ("64K", 65_536), ("10m", 10 << 20), ("4G", 4 << 30)] {
      #expect(try OptionValue.size(text) == size)
    }
    for text in ["", "K", "1.5M", "1T", "-1K", "+", "9007199254740993G", "１"] {
      #expect(throws: OptionError.self) { try OptionValue.size(text) }
    }
  }

  @Test func `Limits on redirects, sizes and speed arrive`() throws {
    let options = try options(
      "--max-redirs", "3", "--max-filesize", "10K", "--speed-limit", "1K", "--speed-time", "5", "--max-held", "1M",
      "http://a/")
    #expect(options.maxHeld == 1 << 20)
    let request = try options.request("http://a/")
    #expect(request.maxRedirects == 3)
    #expect(request.maxDownloadBytes == 10_240)
    #expect(request.leastSpeed == TransferSpeed(bytesPerSecond: 1024, over: .seconds(5)))
    #expect(request.redirects.refusesPrivateAddresses)
  }

  @Test func `One of limit and time of the speed stands for both, as with curl`() throws {
    #expect(try options("http://a/").leastSpeed == nil)
    #expect(
      try options("--speed-limit", "5", "http://a/").leastSpeed == TransferSpeed(bytesPerSecond: 5, over: .seconds(30)))
    #expect(
      try options("--speed-time", "5", "http://a/").leastSpeed == TransferSpeed(bytesPerSecond: 1, over: .seconds(5)))
  }

  @Test func `The oldest version of TLS is what was said`() throws {
    func version(_ arguments: String...) throws -> CurlTLSVersion {
      try ConnectionOptions.parse(arguments).configuration(nil).minimumTLS
    }
    #expect(try version() == .tls12)
    #expect(try version("--tlsv1.2") == .tls12)
    #expect(try version("--tlsv1.3") == .tls13)
    #expect(try version("--tlsv1.2", "--tlsv1.3") == .tls13)
  }

  @Test func `Limits of some hosts arrive, the last word for a pattern counts`() throws {
    let options = try options(
      "--limit", "*.Example.com=2", "--limit", "a.example:81=9", "--limit", "*.example.com=3", "http://a/")
    #expect(options.rules[try HostPattern("*.example.com")]?.requests == 3)
    #expect(options.rules[try HostPattern("a.example:81")]?.requests == 9)
    #expect(options.rules.count == 2)
  }

  @Test func `Nothing is asked again unless that was said`() throws {
    #expect(try options("http://a/").request("http://a/").retry == nil)
    #expect(try options("--retry", "0", "http://a/").request("http://a/").retry == nil)
    let policy = try #require(try options("--retry", "4", "http://a/").request("http://a/").retry)
    #expect(policy.attempts == 5)
    #expect(policy.budget == nil)
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
    ["--retry", "x", "http://a/"],
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
    ["-P", "", "http://a/"], ["foo"], ["http://a/", "ftp://b/"], ["--nope", "http://a/"],
  ])
  func `Misuse is told before anything is fetched`(arguments: [String]) async {
    #expect(throws: (any Error).self) { try FetchCommand.parse(arguments) }
    // The root's way of reading it, with the status that the process ends with.
    #expect(await HeadgateCommandLine.run(["fetch"] + arguments) == 2)
  }

  @Test func `Help and version are no errors`() async {
    #expect(await HeadgateCommandLine.run(["--version"]) == 0)
    #expect(await HeadgateCommandLine.run(["fetch", "--help"]) == 0)
  }

  @Test func `A list that is missing is a matter of files`() async {
    #expect(await HeadgateCommandLine.run(["fetch", "-i", "/nonexistent/list"]) == 3)
  }
}
