import ArgumentParser
import Foundation
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Files that rows name: `-T` and `-F`, below `--files-from`.
@Suite struct CallFileTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
    try FileManager.default.createDirectory(atPath: folder.file("in/sub"), withIntermediateDirectories: true)
    try folder.write("first", to: "in/a.txt")
    try folder.write("second\r\n", to: "in/sub/b \"1\".txt")
    try folder.write("outside", to: "secret")
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("in/link"), withDestinationPath: folder.file("secret"))
  }

  private func rows(_ paths: String...) -> String {
    paths.map { "{\"path\":\(JSONLine.quoted($0))}\n" }.joined()
  }

  @Test func `A row's file is the body`() async throws {
    let called = try await call(
      "-i", "-", "--url", origin.url("/echo"), "-T", "{path}", "--files-from", "@/in", "--response-fields",
      "X-Method,X-Echo-Content-Type,X-Echo-Content-Length", in: folder,
      input: rows("a.txt", "sub/b \"1\".txt"))
    #expect(called.status == 0)
    #expect(try called.column("body_text") == ["\"first\"", #""second\r\n""#])
    #expect(try called.column("headers.X-Method") == ["\"PUT\"", "\"PUT\""])
    #expect(try called.column("headers.X-Echo-Content-Type") == ["null", "null"])
  }

  @Test func `A form has texts and files of the row, which can't end their parts`() async throws {
    let called = try await call(
      "-i", "-", "--url", origin.url("/echo"), "-F", "meta={\"path\":{path:json}};type=application/json", "-F",
      "file=@sub/{path};type=text/plain", "-F", "copy=@a.txt;filename=x-{path}", "--files-from", "@/in",
      "--response-fields", "X-Method,X-Echo-Content-Type", in: folder,
      input: #"{"path":"b \"1\".txt"}"# + "\n")
    // A text field with :json is parsed, and this one is not JSON.
    #expect(try called.column("error") == ["\"invalid_row\""])
    let sent = try await call(
      "-i", "-", "--url", origin.url("/echo"), "-F", "name={path};type=text/x", "-F",
      "file=@sub/{path};type=text/plain", "-F", "copy=@a.txt;filename=x-{path}", "--files-from", "@/in",
      "--response-fields", "X-Method,X-Echo-Content-Type", in: folder, input: #"{"path":"b \"1\".txt"}"# + "\n")
    let text = try #require(try sent.column("body_text").first)
    let body = text.replacing("\\r\\n", with: "|").replacing("\\\"", with: "'")
    #expect(body.contains("name='name'|Content-Type: text/x||b '1'.txt|"))
    #expect(body.contains("name='file'; filename='b %221%22.txt'|Content-Type: text/plain||second||"))
    #expect(
      body.contains("name='copy'; filename='x-b %221%22.txt'|Content-Type: application/octet-stream||first|"))
    #expect(try sent.column("headers.X-Method") == ["\"POST\""])
    #expect(try sent.column("headers.X-Echo-Content-Type")[0].contains("multipart/form-data; boundary="))
  }

  @Test func `A path that leads out of the folder is an invalid row, and is not sent`() async throws {
    for option in [["-T", "{path}"], ["-F", "file=@{path}"]] {
      let arguments = ["-i", "-", "--url", origin.url("/echo"), "--files-from", "@/in"] + option
      let called = try await CallTrial(
        arguments, in: folder, input: rows("../secret", folder.file("secret"), "sub/../../secret", "", "sub/")
      ).finish()
      #expect(called.status == 2)
      #expect(Set(try called.column("error")) == ["\"invalid_row\""])
    }
    #expect(origin.counts().received == 0)
  }

  @Test func `A file that is missing, or reached by a link, fails its row before it is sent, whatever the method`()
    async throws
  {
    for option in [["-T", "{path}"], ["-F", "file=@{path}"], ["-F", "file=@{path}", "-X", "PATCH"]] {
      let arguments = ["-i", "-", "--url", origin.url("/echo"), "--files-from", "@/in", "--retry", "2"] + option
      let called = try await CallTrial(arguments, in: folder, input: rows("none", "link", "a.txt/x", "sub")).finish()
      #expect(called.status == 3)
      #expect(Set(try called.column("outcome")) == ["\"not_sent\""])
      #expect(Set(try called.column("error")) == ["\"body_failed\""])
      #expect(called.messages.contains("in/link\" can't be opened: its path contains a symbolic link"))
      #expect(called.messages.contains("in/none\" can't be read: No such file"))
    }
    #expect(origin.counts().received == 0)
  }

  @Test(arguments: [["-X", "POST"], ["-X", "PUT"]])
  func `A file that changes after the start fails its row, which the server does not get whole`(
    method: [String]
  ) async throws {
    // Longer than what sockets take, so that the second file is not read before the server's turn.
    try Data(count: 24 << 20).write(to: URL(fileURLWithPath: folder.file("in/long")))
    let (path, whole) = (folder.file("in/a.txt"), LockedBox(0))
    origin.setScript(
      OriginScript(handler: { _ in
        // After the head, and before the body is read.
        try? Data("changed meanwhile".utf8).write(to: URL(fileURLWithPath: path))
        return .reading { _ in
          whole.withLock { $0 += 1 }
          return .text("")
        }
      }))
    let arguments = ["-i", "-", "--url", origin.url("/"), "--files-from", "@/in", "-F", "a=@long", "-F", "b=@{path}"]
    let called = try await CallTrial(arguments + method, in: folder, input: rows("a.txt")).finish()
    #expect(try called.column("outcome") == ["\"failed\""] && called.status == 3)
    #expect(try called.column("error") == ["\"body_failed\""] && whole.withLock { $0 } == 0)
    #expect(called.messages.contains("a.txt\" became longer while it was sent"))
  }

  @Test func `The session's requests include the files, and earlier sessions keep theirs`() throws {
    func text(_ more: String...) throws -> String {
      let arguments = ["-i", "r", "-o", "o", "--session", "s", "--url", "http://h/"]
      return try CallCommand.parse(arguments + more).options().templateText
    }
    let plain = try text()
    #expect(plain.split(separator: "\u{0}", omittingEmptySubsequences: false).count == 10)
    let files = ["--files-from", folder.file("in")]
    let all = [
      plain, try text("-T", "{a}", files[0], files[1]), try text("-T", "{b}", files[0], files[1]),
      try text("-F", "a={a}"), try text("-F", "a=@{a}", files[0], files[1]), try text("-F", "a=1", "-F", "b=2"),
    ]
    #expect(Set(all).count == all.count && all.allSatisfy { $0.hasPrefix(plain) })
  }

  @Test func `A dry run shows methods, URLs and files, finds missing ones, and sends nothing`() async throws {
    let (status, output, messages) = try await plan(
      "-i", "-", "--url", origin.url("/{path}"), "-T", "{path}", "--files-from", "@/in", "-o", "@/out", "--limit",
      "127.0.0.1=3", input: rows("a.txt", "none", "../secret", "link"))
    #expect(output == "send\tPUT\t\(origin.url("/a.txt"))\t\(folder.file("in/a.txt"))\n")
    #expect(messages.contains("standard input:2: the file") && messages.contains("No such file"))
    #expect(messages.contains("standard input:3: its file") && messages.contains("standard input:4: the file"))
    #expect(messages.contains(": 1 row, at most 3 at once"))
    #expect(messages.split(separator: "\n").last == "would send 1  failed 3  hosts 1")
    #expect(status == 1 && folder.names() == ["in", "secret", "stderr", "stdin", "stdout"])
    #expect(origin.counts().received == 0)
  }

  @Test func `A dry run shows what a session has done, and changes nothing`() async throws {
    origin.setScript(OriginScript(handler: { $0.path == "/b" ? .text("", status: 500) : .text("") }))
    let arguments = ["-i", "-", "--url", origin.url("/{path}"), "--session", "@/s", "-o", "@/out"]
    _ = try await CallTrial(arguments, in: folder, input: rows("a", "b")).finish()
    let before = (folder.bytes(of: "s"), folder.bytes(of: "out"), origin.counts().received)
    let (status, output, messages) = try await plan(arguments, input: rows("c", "b", "a", "a"))
    #expect(output.split(separator: "\n").map { $0.prefix { $0 != "\t" } } == ["send", "failed", "done", "send"])
    #expect(status == 8 && messages.hasSuffix("would send 2  failed 0  done before 1  failed before 1  hosts 1\n"))
    #expect(before == (folder.bytes(of: "s"), folder.bytes(of: "out"), origin.counts().received))
    #expect(throws: FetchProblem.self) { try dryRun(arguments + ["-X", "PUT"], input: "") }
  }

  private func plan(
    _ arguments: String..., input: String
  ) async throws -> (status: Int32, output: String, messages: String) { try await plan(arguments, input: input) }

  private func plan(
    _ arguments: [String], input: String
  ) async throws -> (status: Int32, output: String, messages: String) {
    var plan = try dryRun(arguments, input: input)
    let status = await plan.run()
    return (status.rawValue, folder.text(of: "stdout") ?? "", folder.text(of: "stderr") ?? "")
  }

  private func dryRun(_ arguments: [String], input: String) throws -> CallDryRun {
    try folder.write(input, to: "stdin")
    let streams = Run.Streams(
      input: try Descriptor.openForReading(folder.file("stdin")),
      output: try Descriptor.create(folder.file("stdout")), messages: try Descriptor.create(folder.file("stderr")))
    let arguments = arguments.map { $0.hasPrefix("@/") ? folder.file(String($0.dropFirst(2))) : $0 }
    return try CallDryRun(try CallCommand.parse(["--dry-run"] + arguments).options(), streams: streams)
  }
}
