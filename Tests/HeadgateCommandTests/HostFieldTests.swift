import ArgumentParser
import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Header fields for some hosts, and credentials that are sent to several of them.
@Suite struct HostFieldTests {
  private let folder: TemporaryFolder
  private let origin: Origin
  private let seen = LockedBox<[String]>([])

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin(endPoints: 2)
    origin.setScript(
      OriginScript(handler: { [seen] request in
        let fields = ["X-Key", "Authorization", "Cookie"].compactMap { name in
          request.header(name).map { "\(name)=\($0)" }
        }
        seen.withLock { $0.append(fields.joined(separator: " ")) }
        return request.path == "/redirect" ? nil : .text("x")
      }))
  }

  private var other: String { "http://localhost:\(origin.port)/" }

  private func taken() -> [String] {
    seen.withLock { seen in
      defer { seen = [] }
      return seen
    }
  }

  private func source(_ text: String) throws -> String {
    switch try OptionValue.headerSource(text) {
    case .field(let field): return "\(field.name.rawName)|\(field.value)"
    case .file(let path): return "@\(path)"
    case .only(let pattern, .field(let field)): return "\(pattern) \(field.name.rawName)|\(field.value)"
    case .only(let pattern, .file(let path)): return "\(pattern) @\(path)"
    default: return ""
    }
  }

  @Test(arguments: [
    ("X-Key: a=b", "X-Key|a=b"), ("X-Key:a=b: c", "X-Key|a=b: c"), ("Cookie:a.b=c; d=e:f", "Cookie|a.b=c; d=e:f"),
    ("Cookie: a=b: c", "Cookie|a=b: c"), ("X: http://a.b/?c=d:e", "X|http://a.b/?c=d:e"), ("X:=Y: z", "X|=Y: z"),
    ("@a=b: c", "@a=b: c"), ("X: =@y", "X|=@y"),
    ("a.example=X-Key: b", "a.example X-Key|b"), ("A.example:81=X:b=c", "a.example:81 X|b=c"),
    ("*.a.example=X: b", "*.a.example X|b"), ("*=X: b", "* X|b"), ("localhost=X: b", "localhost X|b"),
    ("[::1]=X: b", "[::1] X|b"), ("[::1]:81=X: b", "[::1]:81 X|b"), ("10.0.0.1:81=X: b", "10.0.0.1:81 X|b"),
    ("a.example=@fields", "a.example @fields"),
  ])
  func `A field is for all hosts, or for those before the first equals sign`(text: String, expected: String) throws {
    #expect(try source(text) == expected)
  }

  @Test(arguments: [
    "a.example:99999=X: b", "a.example:x=X: b", "*.example.*=X: b", "a b=X: c", "=X: b", "[::1=X: b", "[::1]:x=X: b",
    "a.example=Content-Length: 1", "a.example=X: b\u{1}", "a.example=@", "a.example=b",
  ])
  func `Text that names no host does not become a field for all hosts`(text: String) {
    let error = #expect(throws: OptionError.self) { try source(text) }
    #expect(error?.description.contains("\u{1}") == false)
  }

  @Test func `Variables may be for some hosts`() throws {
    let name = try #require(HTTPField.Name("X-Key"))
    #expect(try OptionValue.headerVariable("X-Key=V") == .variable(name, "V"))
    #expect(
      try OptionValue.headerVariable("[::1]:81=X-Key=V") == .only(try HostPattern("[::1]:81"), .variable(name, "V")))
    for text in ["X-Key", "X-Key=", "a.*=X-Key=V", "a.example=X-Key=", "=X-Key=V", "a.example=X Key=V"] {
      #expect(throws: OptionError.self) { try OptionValue.headerVariable(text) }
    }
  }

  @Test func `The most specific pattern applies for each name, and replaces a field for all hosts`() throws {
    let options = try FetchCommand.parse([
      "http://a/", "-H", "X: all", "-H", "Y: all", "-H", "*.example=X: domain", "-H", "a.example=X: host", "-H",
      "a.example=X: too", "-H", "a.example:81=X: port", "-H", "b.example=Authorization: own",
    ]).options()
    func fields(_ url: String) throws -> [String] {
      try options.request(url).headerFields.map { "\($0.name.rawName)=\($0.value)" }
    }
    #expect(try fields("http://other/") == ["X=all", "Y=all"])
    #expect(try fields("http://c.example/") == ["Y=all", "X=domain"])
    #expect(try fields("http://a.example/") == ["Y=all", "X=host", "X=too"])
    #expect(try fields("http://a.example:81/") == ["Y=all", "X=port"])
    #expect(try fields("http://user:pass@b.example/") == ["Y=all", "X=domain", "Authorization=own"])
  }

  @Test func `A field for a host is sent only to that host, and not to the targets of its redirects`() async throws {
    try folder.write("Authorization: file\n", to: "fields")
    let redirect = origin.url("/redirect?to=" + origin.url("/", endPoint: 1))
    let fetched = try await fetch(
      other, redirect, "-H", "127.0.0.1:\(origin.port)=X-Key: own", "-H", "127.0.0.1=@" + folder.file("fields"),
      "--per-host", "1", "-j", "1", "-P", "@/out", in: folder)
    #expect(fetched.status == 0, "\(fetched.messages)")
    #expect(taken().sorted() == ["", "", "X-Key=own Authorization=file"])
    #expect(fetched.lines.count == 1)
  }

  @Test(arguments: [
    ("machine localhost login ada password pw", ["", "Authorization=Basic YWRhOnB3"]),
    ("machine 127.0.0.1 login ada password pw default login x password y", ["", "Authorization=Basic YWRhOnB3"]),
    ("default login x password y", ["", "Authorization=Basic eDp5"]),
  ])
  func `C04 The target of a redirect gets its own password, if the file names it`(netrc: String, sent: [String])
    async throws
  {
    try folder.write(netrc, to: "netrc")
    let fetched = try await fetch(
      origin.url("/redirect?to=" + other), "--netrc-file", folder.file("netrc"), in: folder)
    #expect(fetched.status == 0, "\(fetched.messages)")
    #expect(taken().sorted() == sent)
  }

  @Test
  func `Without TLS a redirect's target gets a password only on this machine, and only if no option has the field`()
    throws
  {
    func sent(_ url: String, _ given: String...) throws -> String? {
      let arguments = ["--netrc-file", folder.file("netrc"), url] + given.flatMap { ["-H", $0] }
      var options = try FetchCommand.parse(arguments).options()
      try options.readElsewhere(0)
      return options.redirectPasswords?.authorization(for: try DispatchRequest(url))
    }
    try folder.write("machine a.example login ada password pw machine localhost login ada password pw", to: "netrc")
    for url in ["https://a.example/", "http://localhost/"] { #expect(try sent(url) == "Basic YWRhOnB3") }
    for url in ["http://a.example/", "https://b.example/"] { #expect(try sent(url) == nil) }
    #expect(try sent("https://a.example/", "a.example=Authorization: x") == nil)
    #expect(try sent("https://a.example/", "Authorization: x") == nil)
    #expect(try sent("https://a.example/", "b.example=Authorization: x") == "Basic YWRhOnB3")
  }

  @Test func `Credentials that go to several hosts are reported, once`() async throws {
    let urls = [origin.url("/1"), origin.url("/2", endPoint: 1), other, other]
    func said(_ arguments: String...) async throws -> [String] {
      let fetched = await (try FetchTrial(urls + arguments + ["-P", "@/out", "--overwrite"], in: folder)).finish()
      return fetched.lines.dropLast().map(String.init)
    }
    #expect(
      try await said("-H", "Authorization: secret", "-H", "X-Api-Key: secret", "-H", "X: y") == [
        "headgate: Authorization, X-Api-Key is sent to every host (127.0.0.1, localhost, …): "
          + "-H '127.0.0.1=Authorization: …' sends it to that host alone"
      ])
    #expect(try await said("-b", "a=b").count == 1)
    #expect(try await said("-H", "X: y").isEmpty)
    #expect(try await said("-H", "127.0.0.1=Authorization: secret").isEmpty)
    // The other host has its own field, and does not get the one for all.
    #expect(try await said("-H", "Authorization: secret", "-H", "localhost=Authorization: other").isEmpty)
    #expect(try await said("-H", "Authorization: secret", "-q").isEmpty)
  }

  @Test(arguments: [
    ("Authorization", true), ("Proxy-Authorization", true), ("Cookie", true), ("X-API-Key", true), ("apikey", true),
    ("X-Auth-Token", true), ("X-Auth-Key", true), ("Private-Token", true), ("Accept", false), ("User-Agent", false),
    ("Idempotency-Key", false), ("X-Request-Id", false), ("If-Match", false), ("Content-Type", false),
  ])
  func `A credential is recognized by its name`(name: String, isCredential: Bool) throws {
    #expect(SpreadCredentials.isCredential(try #require(HTTPField.Name(name))) == isCredential)
  }

  @Test func `A call has fields for some hosts too, without fields of the row in them`() throws {
    try folder.write("{}", to: "rows")
    func options(_ field: String) throws -> CallOptions {
      try CallCommand.parse(["-i", folder.file("rows"), "--url", "http://a.example/", "-H", field]).options()
    }
    #expect(try options("a.example=X: y").requests.request("http://a.example/").headerFields.map(\.value) == ["y"])
    #expect(try options("b.example=X: y").requests.request("http://a.example/").headerFields.isEmpty)
    let error = #expect(throws: FetchProblem.self) { try options("a.example=X: {name}") }
    #expect(error?.status == .usage && error?.description.contains("leave the host out") == true)
  }

  @Test func `A message hides the value of a host's field`() {
    let argument = "a.example:x=X-Key: secret"
    for arguments in [["-H", argument], ["--header=" + argument]] {
      do {
        _ = try RootCommand.parseAsRoot(["fetch"] + arguments)
      } catch {
        let message = HeadgateCommandLine.withoutPasswords(RootCommand.fullMessage(for: error), arguments)
        #expect(message.contains("names no hosts") && !message.contains("secret"), "\(message)")
        continue
      }
      Issue.record("taken")
    }
  }
}
