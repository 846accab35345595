import ArgumentParser
import HeadgateDispatch
import HeadgateOrigin
import Testing

@testable import HeadgateCommand
@testable import HeadgateReport

/// External text on a terminal and in the log.
@Suite struct ShownTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  private func isHarmless(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy {
      $0 == "\n" || ![.control, .format, .lineSeparator].contains($0.properties.generalCategory)
    }
  }

  @Test func `Passwords in URLs appear in no message and no record`() async throws {
    let there = origin.url("/bytes/1").replacing("http://", with: "http://ada:secret@")
    let missing = origin.url("/status/404").replacing("http://", with: "http://ada:secret@")
    let list = [
      "ftp://ada:secret@h/", "http://ada:secret@h:port/", "http://ada:sec/ret@h:port/", "ada:secret@h",
      "http://ada:secret@h/\u{7}",
    ]
    let fetched = try await fetch(
      there, missing, "http://ada:secret@127.0.0.1:1/", "-i", "-", "-P", "@/out", "-v", "--log", "@/log", in: folder,
      input: list.joined(separator: "\n"))
    #expect(fetched.records.count == 8)
    #expect(!fetched.messages.contains("secret") && !fetched.messages.contains("ret@"))
    let log = try #require(folder.text(of: "log"))
    #expect(!log.contains("secret") && !log.contains("ret@"))
    let masked = origin.url("/bytes/1").replacing("http://", with: "http://ada:***@")
    #expect(fetched.record(masked)?.status == 200)
    #expect(fetched.messages.contains("  \(masked) -> "))
  }

  @Test func `Control characters and direction marks reach neither`() async throws {
    let list = [origin.url("/status/404?\u{202E}\u{9B}2J"), "fo\u{2066}o", origin.url("/bytes/1?\u{2028}")]
    let fetched = try await fetch(
      "-i", "-", "-P", "@/o\u{9B}ut\u{202E}", "-v", "--log", "@/log", in: folder, input: list.joined(separator: "\n"))
    #expect(fetched.status == 1)
    #expect(isHarmless(fetched.messages))
    #expect(fetched.messages.contains("/status/404?\\u{202E}\\u{9B}2J: status 404\n"))
    #expect(fetched.messages.contains("\"fo\\u{2066}o\" has no scheme"))
    #expect(isHarmless(folder.text(of: "log") ?? "\u{0}"))
    #expect(fetched.record(list[0])?.status == 404)
    #expect(fetched.record(list[2])?.file == folder.file("o\u{9B}ut\u{202E}/1?%E2%80%A8"))
  }

  @Test func `JSON strings contain no control characters for a terminal`() {
    #expect(
      JSONLine.quoted("a\u{7F}\u{9B}\u{202E}\u{2028}\u{2029}\u{E0001}é")
        == "\"a\\u007f\\u009b\\u202e\\u2028\\u2029\\udb40\\udc01é\"")
  }

  @Test func `The page escapes the same characters as the terminal`() {
    // All planes in which Unicode has characters other than private ones.
    let scalars = [UInt32(0)...0x33479, 0xE0000...0xE0FFF].joined().lazy.compactMap(Unicode.Scalar.init)
    #expect(scalars.first { PageText.of(String($0)) != ShownText.of(String($0)) } == nil)
  }

  @Test func `A long URL leaves room for the message`() async throws {
    let fetched = try await fetch(
      origin.url("/status/404?" + String(repeating: "x", count: 5000)), "-P", "@/out", in: folder)
    #expect(fetched.messages.contains("x\u{2026}: status 404\n"))
  }

  @Test(arguments: [
    ["-H", "X-Key: secret\r"], ["--header", "X-Key: secret\r"], ["--header=X-Key: secret\r"], ["-H=X-Key:secret\r"],
    ["-HX-Key: secret\r"], ["-vH", "X-Key: a:b@secret\r"], ["-H", "X-Key: secret\r\u{600}"], ["-H", "Bearer secret"],
    ["--pass=-secret", "--pass"], ["--pass", "-secret"],
  ])
  func `The parser's messages quote no values of header fields and no passphrases`(arguments: [String]) {
    let arguments = ["fetch", "http://a/"] + arguments
    let error = #expect(throws: (any Error).self) { try RootCommand.parseAsRoot(arguments) }
    guard let error else { return }
    let message = HeadgateCommandLine.withoutPasswords(RootCommand.fullMessage(for: error), arguments)
    #expect(!message.contains("secret"), "\(message)")
  }

  @Test func `Only the name of a header field is quoted`() {
    let arguments = ["-H", "X Key: secret", "-H", "e", "-H", "@there"]
    let message = HeadgateCommandLine.withoutPasswords("The value 'X Key: secret' '@there' 'e'", arguments)
    #expect(message == "The value 'X Key: ***' '@there' '***'")
  }

  @Test func `The parser's messages quote arguments without passwords and without control characters`() async {
    let arguments = ["--proxy=http://ada:secret@p:x", "http://ada:secret@h/\u{1B}"]
    let message = HeadgateCommandLine.withoutPasswords(
      "Error: '\(arguments[1])' and 'http://ada:secret@p:x' and '\(arguments[0])'", arguments)
    #expect(message == "Error: 'http://ada:***@h/\u{1B}' and 'http://ada:***@p:x' and '--proxy=http://ada:***@p:x'")
    #expect(HeadgateCommandLine.harmless("a\u{1B}[2J\nb\u{202E}") == "a\\u{1B}[2J\nb\\u{202E}")
  }
}
