import ArgumentParser
import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateOrigin
import Testing

@testable import HeadgateCommand

/// The plan of a run.
@Suite struct DryRunTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  private func plan(_ arguments: String..., input: String = "") async throws -> Fetched {
    try folder.write(input, to: "stdin")
    let streams = Run.Streams(
      input: try Descriptor.openForReading(folder.file("stdin")),
      output: try Descriptor.create(folder.file("stdout")), messages: try Descriptor.create(folder.file("stderr")))
    defer { for stream in [streams.input, streams.output, streams.messages] { Descriptor.close(stream) } }
    let arguments = arguments.map { $0.hasPrefix("@/") ? folder.file(String($0.dropFirst(2))) : $0 }
    var dryRun = try DryRun(try FetchCommand.parse(["--dry-run"] + arguments).options(), streams: streams)
    let status = await dryRun.run()
    return Fetched(
      status: status.rawValue, output: folder.bytes(of: "stdout") ?? [], messages: folder.text(of: "stderr") ?? "",
      records: [])
  }

  private func lines(_ fetched: Fetched) -> [Substring] {
    String(decoding: fetched.output, as: UTF8.self).split(separator: "\n")
  }

  @Test func `It shows URLs, their files and the limits of hosts, and nothing is sent or written`() async throws {
    let list = "http://A.example/x\nhttps://b.example:81/x?q\n# c\nhttp://a.example/y/\n"
    let fetched = try await plan(
      "-P", "@/out", "-i", "-", "--limit", "b.example=2", "--rate", "a.example=10/s", "--log", "@/log", input: list)
    let out = folder.file("out")
    #expect(fetched.status == 0)
    #expect(
      lines(fetched) == [
        "fetch\thttp://A.example/x\t\(out)/x", "fetch\thttps://b.example:81/x?q\t\(out)/x?q",
        "fetch\thttp://a.example/y/\t\(out)/index.html",
      ])
    #expect(
      fetched.lines == [
        "headgate: a.example:80: 2 URLs, at most 6 at once, 10/s",
        "headgate: b.example:81: 1 URL, at most 2 at once, 20 ms apart", "would fetch 3  failed 0  hosts 2",
      ])
    #expect(folder.names() == ["stderr", "stdin", "stdout"])
  }

  @Test func `It shows groups with their hosts and limits, and those that no URL belongs to`() async throws {
    let list = "http://a.example/x\nhttp://b.example/y\nhttp://b.example:81/z\n"
    let fetched = try await plan(
      "-P", "@/out", "-i", "-", "--group", "g=a.example,b.example:81", "--limit", "g=2", "--rate", "g=3/s", "--group",
      "one=b.example:80", "--limit", "one=1", "--group", "none=*.b.example,c", "--rate", "none=5/min", input: list)
    #expect(
      fetched.lines.suffix(4) == [
        "headgate: group g: 2 hosts, 2 URLs, at most 2 at once, 3/s",
        "headgate: group one: 1 host, 1 URL, at most 1 at once", "headgate: group none: no URL is at *.b.example, c",
        "would fetch 3  failed 0  hosts 3",
      ])
  }

  @Test func `A request whose outcome an earlier run left open is counted as unknown`() async throws {
    let key = SentRequest(method: .post, body: SentBody(Array("x".utf8), type: SentBody.formType)).key("http://a/")
    let journal = [SessionEvent.began(boot: Descriptor.boot() ?? ""), .sending(key: key)].map(\.line).joined()
    try folder.write(SessionEvent.header + "\n" + journal, to: "run")
    let fetched = try await plan("-P", "@/out", "--session", "@/run", "-d", "x", "http://a/", "http://b/")
    #expect(fetched.status == 9)
    #expect(lines(fetched).map { $0.split(separator: "\t").prefix(2) } == [["fetch", "http://b/"]])
    #expect(fetched.lines.last == "would fetch 1  failed 0  unknown 1  hosts 1")
  }

  @Test func `Names are those of the run`() async throws {
    try folder.write("", to: "x")
    let urls = ["/a/x", "/b/x"].map { origin.url($0) }
    #expect(
      lines(try await plan("-P", "@/", urls[0], urls[1])).map { $0.split(separator: "/").last } == ["x.1", "x.2"])
    #expect(
      lines(try await plan("-P", "@/", "--overwrite", urls[0], urls[1])).map { $0.split(separator: "/").last }
        == ["x", "x.1"])
    #expect(origin.counts().accepted == 0)
  }

  @Test(arguments: [false, true])
  func `A dry run of a session leaves the parts of others their names, as the run does`(hasBegun: Bool) async throws {
    try FileManager.default.createDirectory(atPath: folder.file("out"), withIntermediateDirectories: true)
    try folder.write("theirs", to: "out/3.part")
    if hasBegun { try folder.write(SessionEvent.header + "\n" + SessionEvent.began(boot: "").line, to: "run") }
    let url = origin.url("/bytes/3")
    let path = folder.file("out/3.1")
    #expect(lines(try await plan("-P", "@/out", "--session", "@/run", url)) == ["fetch\t\(url)\t\(path)"])
    #expect(try await fetch(url, "-P", "@/out", "--session", "@/run", in: folder).status == 0)
    #expect(folder.bytes(of: "out/3.1") == pattern(3))
  }

  @Test func `Invalid lines are reported, and determine the exit status`() async throws {
    let list = "foo\nhttp://ada:secret@127.0.0.1:9/x\n"
    let fetched = try await plan("-i", "-", "--min-interval", "2", input: list)
    #expect(fetched.status == 2)
    #expect(lines(fetched) == ["fetch\thttp://ada:***@127.0.0.1:9/x"])
    #expect(
      fetched.lines == [
        "headgate: standard input:1: \"foo\" has no scheme; URLs begin with https:// or http://",
        "headgate: 127.0.0.1:9: 1 URL, at most 6 at once, 2.00 s apart", "would fetch 1  failed 1  hosts 1",
      ])
    #expect(try await plan("-q", "-i", "-", input: list).lines.count == 1)
  }

  @Test func `The selection is that of the run`() async throws {
    let list = (0..<20).map { "http://a.example/\($0 % 10)\n" }.joined()
    let once = try await plan("--check", "--dedupe", "-i", "-", input: list)
    #expect(lines(once) == (0..<10).map { "check\thttp://a.example/\($0)" }.map { $0[...] })
    #expect(once.messages.contains("would fetch 10  failed 0  excluded 10  hosts 1\n"))
    let halves = [
      try await plan("--shard", "1/2", "-i", "-", input: list),
      try await plan("--shard", "2/2", "-i", "-", input: list),
    ]
    #expect(halves.map { lines($0).count }.reduce(0, +) == 20)
    #expect(halves[0].messages.contains("in other parts \(lines(halves[1]).count)  "))
  }

  @Test func `The files of a session are shown as complete, and its journal is unchanged`() async throws {
    let urls = ["/bytes/1", "/bytes/2", "/status/404"].map { origin.url($0) }
    let arguments = ["-P", "@/out", "--session", "@/run"]
    let missing = try await plan(arguments[0], arguments[1], arguments[2], arguments[3], urls[0])
    #expect(lines(missing).first?.hasPrefix("fetch\t") == true && !folder.names().contains("run"))
    _ = try await FetchTrial(arguments + urls, in: folder).finish()
    let (journal, asked) = (folder.bytes(of: "run"), origin.counts().received)
    let list = (urls + [urls[0], origin.url("/bytes/9")]).joined(separator: "\n")
    let again = try await plan("-P", "@/out", "--session", "@/run", "-i", "-", input: list)
    #expect(lines(again).map { $0.prefix { $0 != "\t" } } == ["done", "done", "fetch", "fetch"])
    #expect(again.messages.contains("would fetch 2  failed 0  done before 2  excluded 1  hosts 1\n"))
    let newer = try await plan("-P", "@/out", "--session", "@/run", "-N", urls[0])
    #expect(lines(newer) == ["renew\t\(urls[0])\t\(folder.file("out"))/1"])
    let failed = try await plan("-P", "@/out", "--session", "@/run", "--retry-failed")
    #expect(lines(failed) == ["fetch\t\(urls[2])\t\(folder.file("out"))/404"])
    #expect(folder.bytes(of: "run") == journal && origin.counts().received == asked)
    try folder.write("something else\n", to: "run")
    await #expect(throws: FetchProblem.self) { try await plan("-O", "--session", "@/run", urls[0]) }
  }

  @Test func `Lists of aria2 are shown with their names, and ignored options are reported`() async throws {
    let list = "http://a.example/x\tftp://b.example/x\n  out=d/y\n  split=5\nhttp://a.example/z\n  split=5\n"
    let fetched = try await plan("-P", "@/out", "-i", "-", "--list-format", "aria2", input: list)
    #expect(lines(fetched).map { $0.split(separator: "/out/").last } == ["d/y", "z"])
    #expect(fetched.messages.split(separator: "split=").count == 2)
    #expect(fetched.messages.contains("standard input:1: ftp://b.example/x is not a valid URL"))
  }

  @Test func `A partial file is shown as resumed`() async throws {
    try folder.write(String(repeating: "x", count: 300_000), to: "big.part")
    let url = origin.url("/big")
    let inode = Descriptor.found(folder.file("big.part"))?.inode ?? 0
    let events: [SessionEvent] = [
      .began(boot: Descriptor.boot() ?? ""),
      .part(key: "GET \(url)", name: "big", Validator(tag: "\"1\""), PartIdentity(inode: inode, first: [])),
    ]
    try folder.write(SessionEvent.header + "\n" + events.map(\.line).joined(), to: "run")
    let fetched = try await plan("-P", "@/", "--session", "@/run", url)
    #expect(lines(fetched) == ["resume\t\(url)\t\(folder.file("big"))\tfrom byte 300000"])
  }
}
