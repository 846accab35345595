import ArgumentParser
import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// `-u`: names on the command line, and passwords elsewhere.
@Suite struct UserOptionTests {
  /// The field of the first user whose hosts include that of a URL.
  private func field(_ arguments: String..., at url: String) throws -> String? {
    var options = try FetchCommand.parse(arguments + [url]).options()
    try options.readElsewhere(0)
    return try options.request(url).headerFields[.authorization]
  }

  @Test func `A variable has a name and a password, for all hosts or for one`() throws {
    setenv("HEADGATE_TEST_USER", "ada:pass:word", 1)
    let basic = "Basic YWRhOnBhc3M6d29yZA=="
    #expect(try field("-u", "env:HEADGATE_TEST_USER", at: "http://a/") == basic)
    #expect(try field("-u", "*.example=env:HEADGATE_TEST_USER", at: "http://b.example/") == basic)
    #expect(try field("-u", "b.example=env:HEADGATE_TEST_USER", at: "http://a/") == nil)
    setenv("HEADGATE_TEST_USER", "no colon", 1)
    for name in ["HEADGATE_TEST_USER", "HEADGATE_TEST_NONE"] {
      #expect { try field("-u", "env:\(name)", at: "http://a/") } throws: {
        ($0 as? FetchProblem)?.status == .usage && "\($0)".contains(name) && !"\($0)".contains("colon no")
      }
    }
  }

  @Test(arguments: [
    ["-u", "ada:secret"], ["-u", "ada:secret=1"], ["-uada:secret"], ["-vu", "ada:secret"],
    ["--user", "h.example=ada:secret"],
    ["--user=ada:secret"],
  ])
  func `A password on the command line is refused, and the message does not repeat it`(arguments: [String]) {
    do {
      _ = try FetchCommand.parse(arguments + ["http://a/"])
      Issue.record("it was taken")
    } catch {
      let text = HeadgateCommandLine.withoutPasswords(FetchCommand.fullMessage(for: error), arguments)
      #expect(text.contains("env:NAME") && text.contains("--netrc-file") && !text.contains("secret"), "\(text)")
    }
  }

  @Test func `A name has the password that the terminal is asked for, once and with the hosts`() throws {
    let asked = LockedBox<[String]>([])
    let user = try OptionValue.user("*.b.example=ada").read { prompt in
      asked.withLock { $0.append(prompt) }
      return "secret"
    }
    #expect(asked.withLock { $0 } == ["Password for ada at *.b.example: "])
    #expect(user == User(pattern: try HostPattern("*.b.example"), name: "ada", password: "secret"))
  }

  @Test func `Digest needs the hosts of the users`() throws {
    #expect(throws: (any Error).self) { try FetchCommand.parse(["--digest", "http://a/"]) }
    #expect(throws: (any Error).self) { try FetchCommand.parse(["--digest", "-u", "ada", "http://a/"]) }
    _ = try FetchCommand.parse(["--digest", "-u", "a=ada", "http://a/"])
  }

  @Test func `A Digest challenge of the user's host is answered, and no other`() async throws {
    setenv("HEADGATE_TEST_DIGEST", "ada:secret", 1)
    let fields = LockedBox<[String]>([])
    let script = OriginScript(handler: { request in
      let field = request.header("Authorization") ?? "none"
      fields.withLock { $0.append(field) }
      guard field == "none" else { return .text("in") }
      var answer = OriginAnswer.text("who?", status: 401)
      answer.headers = [
        OriginHeader("WWW-Authenticate", #"Digest realm="r", nonce="n", algorithm=SHA-256, qop="auth""#)
      ]
      return answer
    })
    let (meant, other) = (try Origin(script: script), try Origin(script: script))
    let folder = try TemporaryFolder()
    let host = try EndPoint(meant.url("/"))
    let fetched = try await fetch(
      meant.url("/a"), other.url("/b"), "--digest", "-u", "\(host)=env:HEADGATE_TEST_DIGEST", in: folder)
    #expect(fetched.status == 8 && fetched.output == Array("in".utf8), "\(fetched.messages)")
    #expect(fields.withLock { $0.count { $0.hasPrefix(#"Digest username="ada""#) } } == 1)
    #expect(!fetched.messages.contains("secret"))
  }
}
