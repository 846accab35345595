import ArgumentParser
import HeadgateOrigin
import Testing

@testable import HeadgateCommand
@testable import HeadgateDispatch

/// Which redirects the options allow.
@Suite struct RedirectRuleTests {
  private func rule(_ arguments: String...) throws -> RedirectRule {
    try FetchCommand.parse(["http://a/"] + arguments).options().redirects
  }

  @Test func `By default all redirects are followed, except from https to http, and to private addresses`() throws {
    let rule = try rule()
    #expect(rule == RedirectRule(followed: .noDowngrade, schemes: nil, allowsPrivate: false, socket: nil))
    #expect(rule.allows("https://b/", after: "http://a/"))
    #expect(rule.allows("http://b/", after: "http://a/"))
    #expect(rule.allows("https://b/", after: "https://a/"))
    #expect(!rule.allows("http://a/", after: "https://a/"))
    #expect(rule.policy.refusesPrivateAddresses)
    #expect(try !self.rule("--allow-private-redirects").policy.refusesPrivateAddresses)
  }

  @Test func `An origin is a scheme, a host and a port`() throws {
    let rule = try rule("--redirects", "same-origin")
    #expect(rule.allows("https://a:443/b", after: "https://a/"))
    for other in ["http://a/", "https://b/", "https://a:444/"] { #expect(!rule.allows(other, after: "https://a/")) }
  }

  /// From `https://a/`: to itself, to another host, to http, to another host by http.
  private static let targets = ["https://a/b", "https://b/", "http://a/", "http://b/"]

  /// The library policy's decisions on these redirects.
  private func verdicts(_ policy: RedirectPolicy) -> [Bool] {
    Self.targets.map { target in
      let redirect = ProposedRedirect(from: "https://a/", to: target, statusCode: 302)
      let isDowngrade = target.hasPrefix("http:")
      return policy.objection(
        to: redirect, isSameOrigin: target.hasPrefix("https://a/"), isDowngrade: isDowngrade) == nil
    }
  }

  @Test(
    arguments: [
      ("none", [false, false, false, false]), ("same-origin", [true, false, false, false]),
      ("no-downgrade", [true, true, false, false]), ("all", [true, true, true, true]),
    ] as [(String, [Bool])])
  func `The library's policy is that of the rule`(name: String, expected: [Bool]) throws {
    let rule = try rule("--redirects", name)
    #expect(verdicts(rule.policy) == expected)
    #expect(rule.policy.followsNone == (name == "none"))
    #expect(Self.targets.map { rule.allows($0, after: "https://a/") } == expected)
    #expect(rule.allows("http://a/", after: "http://a/") == (name != "none"))
    let limited = try self.rule("--redirects", name, "--proto-redir", "=https")
    #expect(verdicts(limited.policy) == [expected[0], expected[1], false, false])
    #expect(try verdicts(self.rule("--redirects", name, "--unix-socket", "/x").policy) == [false, false, false, false])
  }

  @Test func `Without redirects the redirect itself is the response, which is an HTTP error`() async throws {
    let origin = try Origin(endPoints: 2)
    let folder = try TemporaryFolder()
    let url = origin.url("/redirect?to=\(origin.url("/bytes/1", endPoint: 1))")
    let fetched = try await fetch(url, "--redirects", "none", in: folder)
    #expect(fetched.status == 8)
    #expect(fetched.messages.contains(": status 302\n"), "\(fetched.messages)")
    for which in ["no-downgrade", "all"] {
      #expect(try await fetch(url, "--redirects", which, in: folder).output.count == 1)
    }
    #expect(origin.counts(endPoint: 1).received == 2)
  }

  @Test func `A redirect without a valid target is an HTTP error`() async throws {
    let origin = try Origin()
    let fetched = try await fetch(origin.url("/redirect?to=ftp://a/"), in: try TemporaryFolder())
    #expect(fetched.status == 8)
  }

  @Test func `Schemes restrict what the other rule allows`() throws {
    let secure = try rule("--proto-redir", "=https", "--redirects", "all")
    #expect(secure.allows("https://b/", after: "http://a/"))
    #expect(!secure.allows("http://b/", after: "http://a/"))
    #expect(try !rule("--proto-redir", "=http,https").allows("http://a/", after: "https://a/"))
  }

  @Test func `A run over a socket stays on it`() throws {
    let rule = try rule("--unix-socket", "/run/x.sock")
    let here = "http+unix://%2Frun%2Fx.sock/a"
    #expect(rule.allows("http+unix://%2Frun%2Fx.sock/b", after: here))
    for other in ["http://localhost/", "https://b/", "http+unix://%2Frun%2Fy.sock/"] {
      #expect(!rule.allows(other, after: here))
    }
  }

  @Test func `A URL over a socket may not name another one`() throws {
    let options = try FetchCommand.parse(["http://a/", "--unix-socket", "/run/x.sock"]).options()
    for url in ["http://a/b", "http+unix://%2Frun%2Fx.sock/b"] {
      #expect(try options.request(url).endPoint == EndPoint(unixSocket: "/run/x.sock"))
    }
    let error = #expect(throws: DispatchError.self) { try options.request("http+unix://%2Frun%2Fy.sock/b") }
    #expect(error?.code == .invalidURL)
    #expect(error?.detail.contains("--unix-socket") == true)
  }

  @Test func `The maximum number of redirects is followed, and one more is an error`() async throws {
    let origin = try Origin()
    let folder = try TemporaryFolder()
    let once = origin.url("/redirect?to=\(origin.url("/bytes/1"))")
    #expect(try await fetch(once, "--max-redirs", "1", in: folder).status == 0)
    let none = try await fetch(once, "--max-redirs", "0", in: folder)
    #expect(none.status == 8)
    let twice = origin.url("/redirect?to=\(once)")
    let fetched = try await fetch(twice, "--max-redirs", "1", in: folder)
    #expect(fetched.status == 8)
    #expect(fetched.messages.contains("raise --max-redirs"))
  }
}
