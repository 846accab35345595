import Foundation
import HTTPTypes
import HeadgateOrigin
import Testing

@testable import HeadgateCommand

/// Header fields and passphrases that are not on the command line.
@Suite struct SecretTests {
  private func fields(_ text: String) throws -> [String] {
    try HeaderSource.fields(inFile: Array(text.utf8)).map { "\($0.name.rawName)=\($0.value)" }
  }

  @Test func `A file of header fields has one per line, with blank lines and comments`() throws {
    #expect(try fields("X-A: b\r\n\n  # X-C: d\n\t\nX-E:f g \t\nX-A: h") == ["X-A=b", "X-E=f g", "X-A=h"])
    #expect(try fields("") == [])
    #expect(try fields("X-A:") == ["X-A="])
  }

  @Test(arguments: ["X-A: b\nsecret", "\n: secret", "\nX A: secret", "\nContent-Length: 1", "\nX-A: sec\u{0}ret"])
  func `A line that is not a field is reported by its number, and not shown`(text: String) {
    let error = #expect(throws: OptionError.self) { try fields(text) }
    #expect(error?.description.hasPrefix("line 2: ") == true)
    #expect(error?.description.contains("secret") == false)
    #expect(throws: OptionError.self) { try HeaderSource.fields(inFile: [0x61, 0x3A, 0xFF]) }
  }

  @Test func `A field's value is read from the environment, and must be set there`() throws {
    let source = HeaderSource.variable(try #require(HTTPField.Name("X-A")), "TOKEN")
    #expect(try source.fields { $0 == "TOKEN" ? "b c" : nil }.map(\.value) == ["b c"])
    for value in [nil, "secret\n"] as [String?] {
      let problem = #expect(throws: FetchProblem.self) { try source.fields { _ in value } }
      #expect(problem?.status == .usage)
      #expect(problem?.description.contains("TOKEN") == true)
      #expect(problem?.description.contains("secret") == false)
    }
  }

  @Test func `A passphrase is literal, the value of a variable or the first line of a file`() throws {
    let folder = try TemporaryFolder()
    try folder.write("open sesame\r\nsecond\n", to: "phrase")
    func value(_ text: String) throws -> String { try Secret(text).value(for: "--pass") { $0 == "A" ? "b" : nil } }
    #expect(try value("open sesame") == "open sesame")
    #expect(try value("") == "")
    #expect(try value("environment:A") == "environment:A")
    #expect(try value("env:A") == "b")
    #expect(try value("pass:env:A") == "env:A")
    #expect(try value("file:" + folder.file("phrase")) == "open sesame")
    #expect(throws: FetchProblem.self) { try value("env:B") }
    #expect(throws: FetchProblem.self) { try value("file:" + folder.file("none")) }
  }

  @Test func `Fields from files and the environment are sent with those of the command line`() async throws {
    let origin = try Origin(
      script: OriginScript(handler: { request in
        .text(["X-A", "X-B"].map { request.header($0) ?? "none" }.joined(separator: " "))
      }))
    let folder = try TemporaryFolder()
    try folder.write("# a token\nX-B: there\n", to: "fields")
    let fetched = try await fetch(origin.url("/"), "-H", "X-A: here", "--header=@" + folder.file("fields"), in: folder)
    #expect(fetched.output == Array("here there".utf8))
    #expect(throws: FetchProblem.self) {
      _ = try FetchTrial([origin.url("/"), "--header=@" + folder.file("none")], in: folder)
    }
  }

  @Test func `Passwords in a file are sent to their host, after those of the URL and the options`() async throws {
    let origin = try Origin(script: OriginScript(handler: { .text($0.header("Authorization") ?? "none") }))
    let folder = try TemporaryFolder()
    try folder.write("machine 127.0.0.1 login ada password secret", to: "netrc")
    let plain = origin.url("/")
    let named = plain.replacing("http://", with: "http://bob:other@")
    func answer(_ arguments: String...) async throws -> String {
      let all = arguments + ["--netrc-file", folder.file("netrc")]
      return String(decoding: try await FetchTrial(all, in: folder).finish().output, as: UTF8.self)
    }
    #expect(try await answer(plain) == "Basic YWRhOnNlY3JldA==")
    #expect(try await answer(named) == "Basic Ym9iOm90aGVy")
    #expect(try await answer(plain, "-H", "Authorization: Bearer x") == "Bearer x")
    #expect(try await answer(named, "-H", "Authorization: Bearer x") == "Bearer x")
    try folder.write("machine localhost login ada password secret", to: "netrc")
    #expect(try await answer(plain) == "none")
  }

  @Test func `A file of passwords that others can read is reported`() async throws {
    let origin = try Origin()
    let folder = try TemporaryFolder()
    try folder.write("", to: "netrc")
    for (mode, isTold) in [(0o600, false), (0o644, true)] as [(mode_t, Bool)] {
      try #require(chmod(folder.file("netrc"), mode) == 0)
      let fetched = try await fetch(origin.url("/"), "--netrc-file", "@/netrc", in: folder)
      #expect(fetched.messages.contains("other users can read the passwords") == isTold)
    }
  }
}
