import ArgumentParser
import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Tokens that a command prints: `--token-command` and `--token-for`.
@Suite struct TokenCommandTests {
  private func printed(_ script: String, _ more: String...) throws -> String {
    try TokenCommand(words: ["/bin/sh", "-c", script, "sh"] + more).run()
  }

  private func problem(_ command: TokenCommand) throws -> String {
    let problem = #expect(throws: TokenProblem.self) { try command.run() }
    return problem?.description ?? ""
  }

  private func problem(_ script: String) throws -> String {
    try problem(TokenCommand(words: ["/bin/sh", "-c", script]))
  }

  @Test(arguments: [
    ("a b  c", ["a", "b", "c"]), (" a\t'b c' ", ["a", "b c"]),
    (#"a "b \" \\ \n $x" c\ d"#, ["a", #"b " \ \n $x"#, "c d"]),
    ("a '' \"\"", ["a", "", ""]), (#"a'b'"c"\'"#, ["abc'"]), ("a $(b) *.c ~ `d`", ["a", "$(b)", "*.c", "~", "`d`"]),
    ("a \\\n b\\\nc \"d\\\ne\"", ["a", "bc", "de"]),
  ])
  func `A command is split as by sh, and nothing is expanded`(text: String, words: [String]) throws {
    #expect(try ShellWords.split(text) == words)
  }

  @Test(arguments: ["", "  ", "''", "a 'b", "a \"b", "a\\"])
  func `A command that can't be split is refused`(text: String) {
    #expect(throws: OptionError.self) { try ShellWords.split(text) }
  }

  @Test func `The token is what the command prints, without blanks around it`() throws {
    #expect(try printed("printf ' \\n%s\\n\\n' \"$1\"", "t.o-k_e+n/=") == "t.o-k_e+n/=")
    #expect(try printed("cat; echo end") == "end")
  }

  @Test func `A command inherits no descriptor but its standard streams`() throws {
    let open = open("/dev/null", O_RDONLY)
    defer { close(open) }
    #expect(try printed("if [ -e /dev/fd/\(open) ]; then echo inherited; else echo none; fi") == "none")
  }

  @Test func `A signal that this program ignores ends a command as usual`() throws {
    let former = signal(SIGPIPE, SIG_IGN)
    defer { signal(SIGPIPE, former) }
    #expect(try problem("kill -PIPE $$; echo token") == "--token-command was ended by a signal")
  }

  @Test func `The end of a command is seen although this program has inherited an ignored SIGCHLD`() throws {
    signal(SIGCHLD, SIG_IGN)
    defer { signal(SIGCHLD, SIG_DFL) }
    var command = TokenCommand(words: ["/bin/echo", "token"])
    command.patience = .seconds(10)
    #expect(try command.run() == "token")
  }

  @Test func `A failure tells the last line of the command's messages, and not its output`() throws {
    #expect(
      try problem("echo secret; echo one >&2; echo 'sign in first' >&2; echo >&2; exit 3")
        == "--token-command failed with the status 3: sign in first")
    #expect(try problem("exit 1") == "--token-command failed with the status 1")
    #expect(try problem("kill -9 $$") == "--token-command was ended by a signal")
    #expect(try problem("echo hm >&2") == "--token-command printed no token: hm")
    #expect(try problem("echo secret; echo second") == "--token-command printed something other than one token")
    // By the shell that gives it the usual limit on open files.
    let missing = try problem(TokenCommand(words: ["/none/such"]))
    #expect(missing.hasPrefix("--token-command failed with the status 127: ") && missing.contains("/none/such"))
  }

  @Test func `A command that prints too much, or takes too long, is ended with its children`() throws {
    #expect(try problem("yes | head -c 20000; sleep 1000").contains("printed more than 16"))
    var slow = TokenCommand(words: ["/bin/sh", "-c", "sleep 1000 & sleep 1000"])
    slow.patience = .zero
    #expect(try problem(slow).contains("took longer than"))
    let problem = #expect(throws: TokenProblem.self) {
      try TokenCommand(words: ["/bin/sleep", "1000"]).run { false }
    }
    #expect(problem?.description.contains("ended with the run") == true)
  }

  @Test func `A child that keeps the output open is not waited for`() throws {
    let child = try printed("sleep 1000 & echo $!")
    #expect(pid_t(child).map { kill($0, SIGKILL) } == 0)
  }

  // MARK: Requests

  private func dispatcher(
    _ transport: ScriptedTransport, run: @escaping @Sendable () async throws -> String
  ) throws -> URLDispatcher {
    let hosts = TokenHosts([try HostPattern("api.example")])
    return URLDispatcher(transport: transport, interceptors: [CommandTokens(for: hosts, run: run)])
  }

  private func request(_ url: String) throws -> DispatchRequest {
    var options = FetchOptions()
    // The scripted transport has no need of either.
    (options.redirects.allowsPrivate, options.connectTimeout) = (true, nil)
    (options.tokenCommand, options.tokenHosts) = (
      TokenCommand(words: ["x"]), TokenHosts([try HostPattern("api.example")])
    )
    return try options.request(url)
  }

  private func sent(_ exchange: ScriptedExchange) throws -> String? {
    let mark = try #require(CommandTokens.mark)
    #expect(exchange.request.headerFields[mark] == nil)
    return exchange.request.headerFields[.authorization]
  }

  @Test func `The command runs before the first request to its hosts and after a 401, and for https only`() async throws
  {
    let transport = ScriptedTransport()
    let runs = LockedBox(0)
    let dispatcher = try dispatcher(transport) {
      let run = runs.withLock { runs in
        runs += 1
        return runs
      }
      return "t\(run)"
    }
    for (url, token, count) in [
      ("http://api.example/", nil, 0), ("https://other.example/", nil, 0), ("https://api.example/", "Bearer t1", 1),
      ("https://api.example/b", "Bearer t1", 1),
    ] as [(String, String?, Int)] {
      async let response = dispatcher.data(for: try request(url))
      let exchange = try await transport.next()
      #expect(try sent(exchange) == token)
      exchange.respond()
      _ = try await response
      #expect(runs.withLock { $0 } == count)
    }
    async let response = dispatcher.data(for: try request("https://api.example/"))
    try await transport.next().respond(401)
    let again = try await transport.next()
    #expect(try sent(again) == "Bearer t2")
    again.respond()
    #expect(try await response.statusCode == 200 && runs.withLock { $0 } == 2)
    await dispatcher.shutDown()
  }

  @Test func `A redirect from another server leads to no token, nor does one back to the host`() async throws {
    let transport = ScriptedTransport()
    let dispatcher = try dispatcher(transport) { "t" }
    for (first, hops) in [
      ("https://other.example/", ["https://api.example/x"]),
      ("https://api.example/", ["https://other.example/", "https://api.example/x"]),
    ] {
      async let response = dispatcher.data(for: try request(first))
      var exchange = try await transport.next()
      for hop in hops {
        exchange.respond(302, [.location: hop])
        exchange = try await transport.next()
        #expect(try sent(exchange) == nil)
      }
      exchange.respond()
      _ = try await response
    }
    // Within the origin it is sent.
    async let response = dispatcher.data(for: try request("https://api.example/"))
    try await transport.next().respond(302, [.location: "/x"])
    let exchange = try await transport.next()
    #expect(try sent(exchange) == "Bearer t")
    exchange.respond()
    _ = try await response
    await dispatcher.shutDown()
  }

  @Test func `After a failure no request waits for another run, and no answer is in doubt`() async throws {
    let transport = ScriptedTransport()
    let runs = LockedBox(0)
    let dispatcher = try dispatcher(transport) {
      let run = runs.withLock { runs in
        runs += 1
        return runs
      }
      if run == 1 { return "t" }
      throw TokenProblem(reason: "failed with the status 1: no more")
    }
    var post = try request("https://api.example/")
    (post.method, post.body) = (.post, RequestBody("x"))
    let sent = post
    let refused = Task { try await dispatcher.data(for: sent) }
    try await transport.next().respond(401)
    let error = await #expect(throws: DispatchError.self) { _ = try await refused.value }
    #expect(error.flatMap { CallOutcome($0, mayRepeat: false) }.map { [.failed, .notSent].contains($0) } == true)
    for _ in 0..<3 {
      let error = await #expect(throws: DispatchError.self) {
        try await dispatcher.data(for: try request("https://api.example/"))
      }
      #expect(error.flatMap { CallOutcome($0, mayRepeat: false) } == .notSent)
      #expect(error.flatMap { FailureClass($0.code) } == .file)
      let text = try error.map { ErrorText.of($0, askedFor: try EndPoint("https://api.example")) }
      #expect(text == "--token-command failed with the status 1: no more")
    }
    #expect(runs.withLock { $0 } == 2)
    await dispatcher.shutDown()
  }

  @Test(arguments: [
    (["--token-command", "x"], "belong together"), (["--token-for", "api.example"], "belong together"),
    (["--token-command", "'x", "--token-for", "api.example"], "a quote is not closed"),
    (["--token-command", "x", "--token-for", "*"], "must name the hosts"),
  ])
  func `Misuse is reported`(arguments: [String], message: String) {
    for base in [["http://a.example/"], ["-i", "r"]] {
      let isFetch = base.count == 1
      let error = #expect(throws: (any Error).self) {
        if isFetch { _ = try FetchCommand.parse(base + arguments) } else { _ = try CallCommand.parse(base + arguments) }
      }
      let text = error.map { isFetch ? FetchCommand.fullMessage(for: $0) : CallCommand.fullMessage(for: $0) } ?? ""
      #expect(text.contains(message), "\(text)")
    }
  }
}
