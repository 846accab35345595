import Foundation
import HeadgateDispatch
import HeadgateOrigin
import Testing

@testable import HeadgateCommand

/// Files that a run reads and writes besides bodies.
@Suite struct OwnFilesTests {
  private let trial: OutputTrial
  private var folder: TemporaryFolder { trial.folder }
  private var origin: Origin { trial.origin }

  init() throws { trial = try OutputTrial() }

  private func problem(_ arguments: String..., input: String = "") -> FetchProblem? {
    #expect(throws: FetchProblem.self) { _ = try FetchTrial(arguments, in: folder, input: input) }
  }

  @Test(arguments: ["--log", "--report", "--cookie-jar", "--adaptive-file"])
  func `A list is not replaced before it is read`(option: String) throws {
    let list = origin.url("/bytes/3") + "\n"
    try folder.write(list, to: "urls")
    for path in ["@/urls", "@/out/../urls"] {
      let problem = problem("-i", "@/urls", "-P", "@/out", option, path)
      #expect(problem?.status == .usage && problem?.description.hasPrefix(option) == true)
    }
    #expect(folder.text(of: "urls") == list)
    // The trial's input is a file too.
    #expect(problem("-i", "-", "-P", "@/out", option, "@/stdin", input: list)?.status == .usage)
    #expect(folder.text(of: "stdin") == list)
  }

  @Test(arguments: ["--log", "--report", "--cookie-jar", "--adaptive-file"])
  func `The session is not also another file of the run`(option: String) async throws {
    let url = origin.url("/bytes/3")
    #expect(problem(url, "-P", "@/out", "--session", "@/run", option, "@/out/../run")?.status == .usage)
    #expect(try await fetch(url, "-P", "@/out", "--session", "@/run", in: folder).status == 0)
    let journal = folder.text(of: "run")
    #expect(
      problem(url, "-P", "@/out", "--session", "@/run", option, "@/run")?.description.contains("same file") == true)
    #expect(folder.text(of: "run") == journal)
  }

  @Test(arguments: ["--session", "--cookie-jar", "--adaptive-file"])
  func `The results of calls are not also another file of the run`(option: String) throws {
    try folder.write("kept", to: "results")
    let arguments = ["-i", "-", "--url", origin.url("/{n}"), "-o", "@/results", option, "@/./results"]
    let problem = #expect(throws: FetchProblem.self) { _ = try CallTrial(arguments, in: folder, input: "") }
    #expect(problem?.status == .usage)
    #expect(folder.text(of: "results") == "kept")
  }

  @Test func `Two files may both be a device`() async throws {
    let fetched = try await fetch(
      origin.url("/bytes/3"), "-P", "@/out", "--log", "/dev/null", "--report", "/dev/null", in: folder)
    #expect(fetched.status == 0)
  }

  @Test func `No body replaces a file that the run reads, not even with --overwrite`() async throws {
    let names = ["list", "sums", "fields", "netrc", "cookies"]
    origin.setScript(OriginScript(handler: { _ in .text("new") }))
    let list = names.map { origin.url("/" + $0) + "\n" }.joined()
    let texts = [
      "list": list, "sums": SHA256.digits(of: Array("x".utf8), 64) + "  x\n", "fields": "X: y\n", "netrc": "",
      "cookies": "",
    ]
    for (name, text) in texts { try folder.write(text, to: "out/" + name) }
    let arguments = [
      "-i", "@/out/list", "-P", "@/out", "--overwrite", "--checksum-file", "@/out/sums", "--netrc-file", "@/out/netrc",
      "-b", "@/out/cookies", "-H", "127.0.0.1=@" + folder.file("out/fields"),
    ]
    let fetched = try await FetchTrial(arguments, in: folder).finish()
    #expect(fetched.status == 0, "\(fetched.messages)")
    for (name, text) in texts {
      #expect(folder.text(of: "out/" + name) == text)
      #expect(folder.text(of: "out/\(name).1") == "new")
    }
  }

  /// Two files are written during the run, and two at its end.
  @Test(arguments: [[], ["--overwrite"]], [["--session", "--log"], ["--cookie-jar", "--adaptive-file"]])
  func `No body takes the name of one of the run's own files, not even with --overwrite`(
    options: [String], own: [String]
  ) async throws {
    let arguments = [
      origin.url("/bytes/3"), origin.url("/bytes/4"), "-P", "@/out", own[0], "@/out/3", own[1], "@/out/4",
    ]
    let fetched = try await FetchTrial(arguments + options, in: folder).finish()
    #expect(fetched.status == 0 && fetched.messages.contains("ok 2"), "\(fetched.messages)")
    #expect(folder.bytes(of: "out/3.1") == pattern(3))
    #expect(folder.bytes(of: "out/4.1") == pattern(4))
    if own[0] == "--session" { #expect(Set(folder.names(in: "out")) == ["3", "3.1", "4", "4.1", "bytes"]) }
  }

  @Test(arguments: [[], ["--overwrite"]])
  func `No body takes the name of one of the run's files in a subfolder`(options: [String]) async throws {
    let arguments = [
      origin.url("/bytes/3"), origin.url("/bytes/4"), "-P", "@/out", "-o", "{path}/{name}", "--log", "@/out/bytes/3",
      "--cookie-jar", "@/out/bytes/../bytes/4",
    ]
    #expect(try await FetchTrial(arguments + options, in: folder).finish().status == 0)
    #expect(folder.text(of: "out/bytes/3")?.hasPrefix("{") == true)
    #expect(folder.bytes(of: "out/bytes/3.1") == pattern(3))
    #expect(folder.bytes(of: "out/bytes/4.1") == pattern(4))
  }
}
