import ArgumentParser
import Foundation
import HeadgateDispatch
import Testing

@testable import HeadgateCommand

/// Options from files.
@Suite struct SettingsFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func added(_ arguments: [String], home: String? = nil) throws -> [String] {
    try SettingsFile.added(to: arguments) { $0 == "HOME" ? home : nil }.arguments
  }

  @Test func `A file has long options, one a line, for all subcommands or for one`() throws {
    let text = """
      # A comment, and a blank line

      per-host 4
      --limit  api.example.com=2\r
      rate=10/s
      header = X-Key: a=b
      proto-redir =https
      retry-unsafe
      [fetch]
      overwrite
      [call]
      weight max_tokens=90000/min
      """
    let all = [
      "--per-host=4", "--limit=api.example.com=2", "--rate=10/s", "--header=X-Key: a=b", "--proto-redir==https",
      "--retry-unsafe",
    ]
    for (subcommand, own) in [("fetch", "--overwrite"), ("call", "--weight=max_tokens=90000/min")] {
      #expect(try SettingsFile.options(Array(text.utf8), of: "f", for: subcommand) == all + [own])
    }
  }

  @Test(arguments: ["-i list", "x", "per-host: 4", "[hold]", "[fetch", "config other", "help", "\u{e9}t\u{e9} 4"])
  func `A line that is no option is named by its number, without its text`(line: String) {
    #expect {
      try SettingsFile.options(Array("per-host 4\n\(line)".utf8), of: "the file", for: "fetch")
    } throws: { error in
      "\(error)".hasPrefix("the file, line 2: ") && (error as? FetchProblem)?.status == .usage
    }
  }

  @Test func `Options of the command line come after those of the files, and the default file first`() throws {
    try FileManager.default.createDirectory(
      atPath: folder.file(".config/headgate"), withIntermediateDirectories: true)
    try folder.write("per-host 1", to: ".config/headgate/config")
    try folder.write("per-host 2", to: "own")
    let home = folder.path
    let own = folder.file("own")
    let given = ["fetch", "-K", own, "--per-host", "3", "http://a/"]
    let usual = home + "/.config/headgate/config"
    let all = ["fetch", "--per-host=1", "--config=\(usual)", "--per-host=2", "--config=\(own)"] + given.dropFirst()
    #expect(try added(given, home: home) == all)
    #expect(try FetchCommand.parse(Array(all.dropFirst())).options().perHost.requests == 3)
    #expect(try added(["fetch", "--no-config", "--config=\(own)"], home: home)[1] == "--per-host=2")
    #expect(try added(["call", "-K\(own)"])[1] == "--per-host=2")
    // Not of a subcommand without settings, and not after --.
    #expect(try added(["hold", "-K", own], home: home) == ["hold", "-K", own])
    #expect(try added(["fetch", "--", "-K", own]) == ["fetch", "--", "-K", own])
    #expect(throws: FetchProblem.self) { try added(["fetch", "-K", folder.file("missing")]) }
  }

  @Test func `An option that lacks its value, or has an empty one, takes no argument of the command line`() throws {
    try folder.write("output-dir", to: "lacking")
    let lacking = try added(["fetch", "-vK", folder.file("lacking"), "http://a/"])
    #expect(throws: (any Error).self) { try FetchCommand.parse(Array(lacking.dropFirst())) }
    for line in ["proxy=", "proxy ="] {
      try folder.write(line, to: "empty")
      let empty = try added(["fetch", "-K", folder.file("empty"), "http://a/", "http://b/"])
      let command = try FetchCommand.parse(Array(empty.dropFirst()))
      #expect(command.common.connection.proxy == "" && command.urls == ["http://a/", "http://b/"])
    }
  }

  @Test func `A file that others can write is refused`() throws {
    try folder.write("per-host 2", to: "shared")
    chmod(folder.file("shared"), 0o666)
    #expect { try added(["fetch", "-K", folder.file("shared")]) } throws: {
      "\($0)".contains("other users can write it")
    }
    #expect(throws: FetchProblem.self) { try added(["fetch", "-K", folder.file("")]) }
  }
}
