import ArgumentParser
import Foundation
import HeadgateDispatch
import HeadgateOrigin
import HeadgateReport
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Bodies of rows in files of their own: `--save`.
@Suite struct CallSaveTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  private func save(_ template: String, _ more: String..., input: String) async throws -> Called {
    let arguments = ["-i", "-", "--url", origin.url("/bytes/{n}"), "-P", "@/out", "--save", template]
    return try await CallTrial(arguments + more, in: folder, input: input).finish()
  }

  @Test func `Each success has a file with the name of its row, and its result has the path`() async throws {
    let called = try await save(
      "of/{user.id}/{n}.bin", input: #"{"n":3,"user":{"id":"a b"}}"# + "\n" + #"{"n":0,"user":{"id":7}}"# + "\n")
    #expect(called.status == 0)
    let paths = ["of/a b/3.bin", "of/7/0.bin"].map { folder.file("out/" + $0) }
    #expect(try called.column("file") == paths.map { "\"\($0)\"" })
    #expect(folder.bytes(of: "out/of/a b/3.bin") == pattern(3) && folder.bytes(of: "out/of/7/0.bin") == [])
    for name in ["body", "body_text"] { #expect(try called.column(name).allSatisfy { $0 == "null" || $0.isEmpty }) }
    #expect(called.last.contains("bytes 3 B"))
  }

  @Test func `A failure has its body in the result, and no file`() async throws {
    var answer = OriginAnswer.text("{\"why\":\"no\"}", status: 422)
    answer.headers = [OriginHeader("Content-Type", "application/json")]
    origin.setScript(
      OriginScript(handler: { [answer] in
        if $0.path == "/bytes/1" { return answer }
        var long = OriginAnswer.pattern(count: 100_000)
        long.status = 404
        return long
      }))
    let called = try await save("{n}", input: "{\"n\":1}\n{\"n\":2}\n")
    #expect(try called.column("body.why") == ["\"no\"", ""])
    #expect(try called.column("status") == ["422", "404"])
    #expect(try called.column("file") == ["", ""] && called.status == 8)
    #expect(folder.names(in: "out") == [])
  }

  @Test func `A success with only a part of the body is no success`() async throws {
    var part = OriginAnswer.pattern(count: 5)
    (part.status, part.headers) = (206, [OriginHeader("Content-Range", "bytes 0-4/10")])
    origin.setScript(OriginScript(handler: { [part] _ in part }))
    let called = try await save("{n}", input: "{\"n\":1}\n")
    #expect(try called.column("error") == ["\"http_error\""] && called.status == 8)
    #expect(called.messages.contains("status 206, with only a part of the body"))
    // It was processed, so it must not be sent again.
    let post = try await save("{n}", "-X", "POST", input: "{\"n\":1}\n")
    #expect(try post.column("outcome") == ["\"unknown\""] && post.status == 9)
    #expect(folder.names(in: "out") == [])
  }

  @Test func `No value leads out of its part of the path, or hides a file directly in the folder`() async throws {
    let names = ["../x", "..", "/etc/passwd", ".netrc", "a\u{202E}b", "x.part"]
    let rows = names.map { "{\"n\":1,\"name\":\(JSONLine.quoted($0))}\n" }.joined()
    let called = try await save("{name}", input: rows)
    #expect(called.status == 0)
    #expect(
      Set(folder.names(in: "out")) == ["_._x", "_.", "_etc_passwd", "_netrc", "a_b", "x.part_"])
    let below = try await save("d/{name}/{n}", input: rows)
    #expect(below.status == 0 && folder.names() == ["out", "stderr", "stdin", "stdout"])
    #expect(Set(folder.names(in: "out/d")) == [".._x", "_.", "_etc_passwd", ".netrc", "a_b", "x.part_"])
  }

  @Test func `A row without the fields of its name is not sent`() async throws {
    let called = try await save("{name}.bin", input: "{\"n\":1}\n{\"n\":1,\"name\":\"\"}\n{\"n\":1,\"name\":[]}\n")
    #expect(try called.column("error") == ["\"missing_field\"", "\"invalid_row\"", "\"invalid_row\""])
    #expect(called.status == 2 && origin.counts().received == 0)
  }

  @Test func `Existing files and those of the run are kept, and equal names are numbered in the order of the rows`()
    async throws
  {
    try FileManager.default.createDirectory(atPath: folder.file("out"), withIntermediateDirectories: true)
    try folder.write("mine", to: "out/a")
    let rows = ["a", "a", "results", "b"].map { "{\"n\":1,\"name\":\"\($0)\"}\n" }.joined()
    let called = try await save("{name}", "-o", "@/out/results", input: rows)
    #expect(
      try called.column("file").map { $0.split(separator: "/").last } == ["a.1\"", "a.2\"", "results.1\"", "b\""])
    #expect(folder.text(of: "out/a") == "mine" && called.results.count == 4)
    #expect(called.messages.split(separator: "several rows have the path a").count == 2)
  }

  @Test func `A session sends no row again whose file is complete`() async throws {
    let session = ["--session", "@/s", "-o", "@/results"]
    let rows = "{\"n\":1}\n{\"n\":2}\n"
    #expect(try await save("{n}", session[0], session[1], session[2], session[3], input: rows).status == 0)
    let again = try await save("{n}", session[0], session[1], session[2], session[3], input: rows + "{\"n\":3}\n")
    #expect(again.last.hasPrefix("ok 1  failed 0  done before 2") && origin.counts().received == 3)
    #expect(folder.names(in: "out") == ["1", "2", "3"])
  }

  @Test func `A dry run shows where bodies go, and makes nothing`() async throws {
    try folder.write("{\"n\":1}\n{\"n\":1}\n", to: "stdin")
    let streams = Run.Streams(
      input: try Descriptor.openForReading(folder.file("stdin")),
      output: try Descriptor.create(folder.file("stdout")), messages: try Descriptor.create(folder.file("stderr")))
    let out = folder.file("out")
    let arguments = ["--dry-run", "-i", "-", "--url", "http://a.example/{n}", "-P", out, "--save", "d/{n}.pdf"]
    var plan = try CallDryRun(try CallCommand.parse(arguments).options(), streams: streams)
    #expect(await plan.run() == .ok)
    #expect(
      folder.text(of: "stdout")
        == "send\tGET\thttp://a.example/1\tto \(out)/d/1.pdf\nsend\tGET\thttp://a.example/1\tto \(out)/d/1.pdf.1\n")
    #expect(folder.names() == ["stderr", "stdin", "stdout"])
  }
}
