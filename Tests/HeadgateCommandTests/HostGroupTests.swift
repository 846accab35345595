import ArgumentParser
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Hosts that have one budget together.
@Suite struct HostGroupTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  /// The same server under another name is another host.
  private func other(_ path: String) -> String { "http://localhost:\(origin.port)\(path)" }

  private func options(_ arguments: String...) throws -> FetchOptions {
    try FetchCommand.parse(arguments + ["http://a/"]).options()
  }

  @Test func `A group has the limits of its name, and its hosts keep their own`() throws {
    let options = try options(
      "--group", "ncbi=*.ncbi.example,NCBI.example:81", "--group", "ncbi=x.example", "--limit", "ncbi=3", "--rate",
      "NCBI=3/s", "--rate", "ncbi=100/min", "--limit", "a.ncbi.example=2", "--rate", "10/s", "--group", "all=*",
      "--limit",
      "all=7")
    let limits = options.groups.limits
    #expect(limits.count == 2 && limits[.group("ncbi")]?.requests == 3 && limits[.group("all")]?.requests == 7)
    #expect(limits[.group("ncbi")]?.rates.map(\.description) == ["3/s", "100/min"])
    #expect(options.rules.keys.map(\.description) == ["a.ncbi.example"])
    #expect(options.rules.values.map(\.requests) == [2] && options.perHost.rates.map(\.description) == ["10/s"])
    for (url, names) in [
      ("https://a.ncbi.example/", ["ncbi", "all"]), ("http://ncbi.example:81/", ["ncbi", "all"]),
      ("http://ncbi.example/", ["all"]), ("http://X.example./", ["ncbi", "all"]), ("http://127.0.0.1/", ["all"]),
    ] {
      #expect(try options.request(url).scopes == names.map { .group($0) }, "\(url)")
    }
  }

  @Test func `Over a socket, the groups are those of the hosts in the URLs`() throws {
    let options = try options(
      "--group", "g=a.example", "--group", "h=b.example", "--limit", "g=1", "--limit", "h=1", "--unix-socket", "/s")
    let request = try options.request("http://a.example/")
    #expect(request.endPoint.isUnixSocket && request.scopes == [.group("g")])
    let unmet = UnmetHosts(options.groups, options.rules.keys)
    unmet.meet(request)
    #expect(unmet.remarks == ["group h: no URL is at b.example"])
  }

  @Test func `Without groups a name of one word is a host, and beside groups one with a dot`() throws {
    #expect(try options("--limit", "intranet=2").rules.keys.map(\.description) == ["intranet"])
    let both = try options(
      "--group", "g=a.example", "--rate", "g=1/s", "--limit", "intranet.=2", "--limit", "localhost=3")
    #expect(Set(both.rules.keys.map(\.description)) == ["intranet", "localhost"])
    #expect(try both.request("http://intranet/").scopes.isEmpty)
  }

  @Test(
    arguments: [
      (["--group", "g"], "write it as name=host"), (["--group", "=a.example"], "can't be the name of a group"),
      (["--group", "a.example=b.example", "--limit", "a.example=1"], "can't be the name of a group"),
      (["--group", "localhost=b.example"], "can't be the name of a group"),
      (["--group", "1=b.example"], "can't be the name of a group"), (["--group", "g="], "is not a host pattern"),
      (["--group", "g=a.example,,b.example", "--limit", "g=1"], "is not a host pattern"),
      (["--group", "g=a.*", "--limit", "g=1"], "is not a host pattern"),
      (["--group", "g=a.example"], "The group g has no limit; give --limit g=N or --rate g=N/s too."),
      (["--group", "g=a.example", "--limit", "h=1"], "--limit h=…: there is no group of this name, only g"),
      (["--group", "g=a.example", "--limit", "g=1", "--rate", "h=1/s"], "write 'h.=…', with a dot"),
      (["--group", "g=a.example,g:80", "--limit", "g=1"], "g is the name of a group and of a host in a group"),
      (["--group", "g=a.example", "--limit", "g=1", "--limit-rate", "g=1M"], "--limit-rate 'a.example=…'"),
    ])
  func `What does not fit together is refused, with what to write`(arguments: [String], says: String) {
    for command in [["fetch", "http://a/"], ["call", "-i", "-", "--url", "http://a/"]] {
      #expect {
        _ = try RootCommand.parseAsRoot(command + arguments)
      } throws: { error in
        RootCommand.message(for: error).contains(says)
      }
    }
  }

  @Test func `A settings file has groups, and the command line their limits`() throws {
    let settings = try SettingsFile.options(
      Array("group ncbi=*.ncbi.example, x.example\nlimit ncbi=3\nrate ncbi=3/s\n".utf8), of: "f", for: "fetch")
    let options = try FetchCommand.parse(settings + ["--config=f", "--limit", "ncbi=1", "http://a/"]).options()
    #expect(options.groups.limits[.group("ncbi")]?.requests == 1 && !options.hostsAreOwn)
    #expect(try options.request("http://x.example/").scopes == [.group("ncbi")])
  }

  @Test func `Two hosts of a group never run more requests together than its limit`() async throws {
    origin.setScript(OriginScript(delay: .milliseconds(2)))
    let list = (0..<40).flatMap { [origin.url("/bytes/\($0)"), other("/bytes/\($0)")] }
    let fetched = try await FetchTrial(
      ["-P", "@/out", "-i", "-", "--group", "g=127.0.0.1,localhost", "--limit", "g=1"], in: folder,
      input: list.joined(separator: "\n")
    ).finish()
    #expect(fetched.status == 0 && fetched.count("ok") == 80, "\(fetched.messages)")
    #expect(origin.counts().peakRequests == 1)
  }

  @Test func `Rows that must not be sent twice are counted in the group too`() async throws {
    origin.setScript(OriginScript(delay: .milliseconds(2)))
    let rows = (0..<20).map { "{\"host\":\"\($0 % 2 == 0 ? "127.0.0.1" : "localhost")\",\"n\":\($0)}" }
    let called = try await CallTrial(
      [
        "-i", "-", "--url", "http://{host}:\(origin.port)/echo", "--json", "{\"n\":{n}}", "--group",
        "g=127.0.0.1,localhost", "--limit", "g=1",
      ], in: folder, input: rows.joined(separator: "\n")
    ).finish()
    #expect(called.status == 0 && called.results.count == 20, "\(called.messages)")
    #expect(origin.counts().peakRequests == 1)
  }

  @Test func `A redirect into a group counts there`() async throws {
    let target = try Origin(script: OriginScript(delay: .milliseconds(2)))
    let port = target.port
    origin.setScript(
      OriginScript(handler: { request in
        var answer = OriginAnswer.text("", status: 302)
        answer.headers = [OriginHeader("Location", "http://localhost:\(port)\(request.path)")]
        return answer
      }))
    let list = (0..<40).map { origin.url("/bytes/\($0)") }
    let fetched = try await FetchTrial(
      ["-P", "@/out", "-i", "-", "--group", "g=localhost", "--limit", "g=1"], in: folder,
      input: list.joined(separator: "\n")
    ).finish()
    #expect(fetched.status == 0 && fetched.count("ok") == 40, "\(fetched.messages)")
    #expect(target.counts().received == 40 && target.counts().peakRequests == 1)
  }

  @Test func `A refusal by one host pauses the group`() async throws {
    let received = Locked<[String]>([])
    origin.setScript(
      OriginScript(handler: { request in
        received.withLock { $0.append(request.path) }
        var answer = OriginAnswer.text("", status: request.path == "/busy" ? 429 : 200)
        if answer.status == 429 { answer.headers = [OriginHeader("Retry-After", "22680")] }
        return answer
      }))
    let fetched = try await FetchTrial(
      [
        "-P", "@/out", origin.url("/busy"), other("/a"), "--group", "g=127.0.0.1,localhost", "--limit", "g=1",
        "--retry",
        "3",
      ], in: folder
    ).finish()
    #expect(fetched.status == 75 && fetched.count("refusing") == 2, "\(fetched.messages)")
    #expect(received.withLock { $0 } == ["/busy"] && fetched.messages.contains("group g"), "\(fetched.messages)")
    #expect(fetched.lines.last?.contains("  refusals 1 (127.0.0.1:\(origin.port))  ") == true, "\(fetched.messages)")
  }

  @Test func `A group that no URL belongs to is told, unless a settings file has groups for other lists`() async throws
  {
    let remark = "headgate: group g: no URL is at *.example, b\n"
    let arguments = ["--group", "g=*.example,b", "--limit", "g=1", "-P", "@/out", origin.url("/bytes/1")]
    #expect(try await FetchTrial(arguments, in: folder).finish().messages.contains(remark))
    let settled = try await FetchTrial(arguments + ["--config=f"], in: folder).finish()
    #expect(settled.status == 0 && !settled.messages.contains(remark), "\(settled.messages)")
    #expect(try await FetchTrial(arguments + ["--config=f", "-v"], in: folder).finish().messages.contains(remark))
  }

  @Test func `Limits that no URL meets are told, unless a settings file has limits for other lists`() async throws {
    let own = try EndPoint(origin.url("/"))
    let arguments = [
      "--limit", "foo=2", "--rate", "*.bar=1/s", "--limit", "\(own.host)=3", "-P", "@/out", "--overwrite",
      origin.url("/bytes/1"),
    ]
    let remarks = ["*.bar", "foo"].map { "headgate: limits for \($0): no URL is there\n" }
    let fetched = try await FetchTrial(arguments, in: folder).finish()
    #expect(fetched.messages.hasPrefix(remarks.joined()) && fetched.lines.count == 3, "\(fetched.messages)")
    let settled = try await FetchTrial(arguments + ["--config=f"], in: folder).finish()
    #expect(settled.lines.count == 1, "\(settled.messages)")
  }
}
