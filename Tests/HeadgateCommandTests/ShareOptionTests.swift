import ArgumentParser
import HeadgateDispatch
import HeadgateSharing
import Testing

@testable import HeadgateCommand

/// The options of `--share` and `headgate hold`.
@Suite struct ShareOptionTests {
  private func options(_ arguments: String...) throws -> FetchOptions {
    try FetchCommand.parse(["http://a/"] + arguments).options()
  }

  private func said(_ arguments: [String]) -> String? {
    do {
      _ = try RootCommand.parseAsRoot(arguments)
      return nil
    } catch {
      return RootCommand.message(for: error)
    }
  }

  @Test("limits are not shared, shared with the user's programs, or with those of a folder")
  func share() throws {
    #expect(try options().share == nil)
    #expect(try options("--share", "unix").share == .unix(.user))
    #expect(try options("--share", "unix:/tmp/team").share == .unix(PermitFolder(path: "/tmp/team")))
    let call = try CallCommand.parse(["-i", "-", "--url", "http://a/{n}", "--share", "unix"]).options()
    #expect(call.requests.share == .unix(.user))
  }

  @Test("the behaviour without the server is closed, divided or open")
  func outage() throws {
    #expect(try options("--share", "unix").outage == .failClosed(after: .seconds(30)))
    #expect(try options("--share", "unix", "--share-outage", "closed").outage == .failClosed())
    #expect(try options("--share", "unix", "--share-outage", "closed:2.5").outage == .failClosed(after: .seconds(2.5)))
    #expect(try options("--share", "unix", "--share-outage", "closed:0").outage == .failClosed(after: .zero))
    #expect(try options("--share", "unix", "--share-outage", "divide").outage == .localShare)
    let open = try EndPointLimits(requests: 3)
    #expect(try options("--share", "unix", "--share-outage", "open:3").outage == .failOpen(open))
  }

  @Test(
    "invalid values are named",
    arguments: [
      (["fetch", "http://a/", "--share", "tcp://x"], "write unix, unix:/FOLDER or redis://HOST:PORT"),
      (["fetch", "http://a/", "--share", "unix:team"], "write unix, unix:/FOLDER or redis://HOST:PORT"),
      (["fetch", "http://a/", "--share", "unix", "--share-outage", "open:0"], "give a whole number of 1 or more"),
      (
        ["fetch", "http://a/", "--share", "unix", "--share-outage", "never"],
        "write closed, closed:SECONDS, divide or open:N"
      ),
      (["fetch", "http://a/", "--share-outage", "divide"], "give --share too"),
      (["hold", "api.example.com", "--", "true"], "write the host and the port"),
      (["hold", "a:80", "--rate", "fast", "--", "true"], "is not a rate"),
      (["hold", "a:80", "--weight", "800", "--", "true"], "such as 800=90000/min"),
      (["hold", "a:80", "--weight", "100000=90000/min", "--", "true"], "would never be granted"),
      (["hold", "a:80", "--per-host", "0", "--", "true"], "give a whole number of 1 or more"),
      (["share", "init", "redis://a#b", "--limit", "a:80"], "write it as api.example.com:443=8"),
      (["share", "init", "redis://a#b", "--limit", "a=8"], "write the host and the port"),
      (["share", "init", "redis://a#b", "--limit", "a:80=8", "--quarantine", "90000"], "at most 86400 seconds"),
      (["share", "init", "redis://a#b", "--quarantine", "9"], "give --limit too"),
      (["hold", "builds", "--refused-exit", "0", "--", "true"], "give a status from 1 to 255"),
      (["hold", "builds", "--refused-exit", "75"], "give the command too"),
      (["hold", "a.b", "--", "true"], "or name a resource of this machine"),
      (["hold", "builds", "--slots", "0", "--", "true"], "give a whole number of 1 or more"),
      (["share", "serve", "--metrics", "0.0.0.0:9464"], "only this machine reaches"),
      (["share", "serve", "--metrics", "metrics"], "only this machine reaches"),
      (["share", "serve", "--metrics", "[::1]:9464", "--background"], "can't be combined"),
      (["refused", "nowhere"], "write the host and the port"),
      (["refused", "a:80", "--retry-after", "0"], "give a number of seconds above 0"),
      (["refused", "a:80", "--status", "200"], "give a status such as 429"),
      (["refused", "a:80", "--share", "unix", "--state", "x"], "--share and --state can't be combined"),
      (["share", "serve", "--state", "x", "--no-state"], "--state and --no-state can't be combined"),
      (["status", "nowhere"], "write unix, unix:/FOLDER or redis://HOST:PORT"),
    ])
  func mistakes(arguments: [String], part: String) throws {
    let message = try #require(said(arguments))
    #expect(message.contains(part), "\(message)")
  }

  @Test("the namespace of a Redis URL is its fragment, and its password may come from the environment")
  func redis() {
    #expect(RedisShare.parts("redis://a:6379", password: nil) == ("redis://a:6379", "headgate"))
    #expect(RedisShare.parts("redis://a/1#crawl", password: nil) == ("redis://a/1", "crawl"))
    #expect(RedisShare.parts("redis://a/1#crawl", password: "p w@") == ("redis://:p%20w%40@a/1", "crawl"))
    #expect(RedisShare.parts("redis://me@a", password: "x") == ("redis://me:x@a", "headgate"))
    // The URL takes precedence.
    #expect(RedisShare.parts("redis://me:y@a", password: "x") == ("redis://me:y@a", "headgate"))
  }

  @Test("a permit that counts in its lane and in several scopes is one permit")
  func held() throws {
    let endPoint = "\(try EndPoint(host: "a", port: 80))"
    let scopes = [RequestScope.key("me"), .route("GET /"), .group("g")].map { (scope: "\($0)", running: 1) }
    #expect(RedisShare.held([(scope: endPoint, running: 1), (scope: endPoint + "|long", running: 1)] + scopes) == 1)
  }

  @Test(
    "a server in the background has the folder and the time to linger of its command", arguments: ["10", "0.25", "3e9"])
  func background(linger: String) throws {
    let given = try ShareServeCommand.parse(["--folder", "/tmp/team", "--linger", linger, "--background"])
    let folder = PermitFolder(path: try #require(given.folder))
    let arguments = ShareServerProcess.arguments(folder, linger: given.linger)
    #expect(arguments.prefix(2) == ["share", "serve"])
    let started = try ShareServeCommand.parse(Array(arguments.dropFirst(2)))
    #expect((started.folder, started.linger) == (given.folder, given.linger))
    #expect(!started.background)
  }

  @Test("a server keeps the state of a folder of its own there, and of the user's where runs keep theirs")
  func state() throws {
    let own = PermitFolder(path: "/tmp/team")
    let plain = try ShareServeCommand.parse([])
    #expect(plain.place(for: own) == StatePlace(folder: "/tmp/team/state", isChosen: false))
    #expect(plain.place(for: .usual) == .usual())
    #expect(try ShareServeCommand.parse(["--no-state"]).place(for: own) == nil)
    let chosen = try ShareServeCommand.parse(["--state", "x"])
    #expect(chosen.place(for: own) == StatePlace(folder: "x", isChosen: true))
    let passedOn = ShareServerProcess.arguments(own, linger: .seconds(1), state: "x")
    #expect(try ShareServeCommand.parse(Array(passedOn.dropFirst(2))).state == "x")
  }

  @Test("a permit is for an end-point, with limits, a lane and a weight")
  func hold() throws {
    let plain = try HoldCommand.parse(["api.example.com:443", "--", "sh", "-c", "true"])
    #expect(plain.command == ["sh", "-c", "true"])
    #expect(try plain.demand().limits.requests == 6)
    let url = try HoldCommand.parse([
      "https://API.example.com/v1", "--per-host", "4", "--rate", "10/s", "--rate", "100/min", "--weight",
      "800=90000/min", "--long", "--", "true",
    ])
    let demand = try url.demand()
    #expect(demand.endPoint.description == "api.example.com:443")
    #expect(demand.lane == .long)
    #expect(demand.limits.requests == 4)
    #expect(demand.limits.rates.map(\.description) == ["10/s", "100/min"])
    #expect(demand.weights == ["weight": 800])
    #expect(demand.limits.budgets.map(\.units) == [90_000])
    #expect(try HoldCommand.parse(["a:80"]).command.isEmpty)
    let resource = try HoldCommand.parse(["builds", "--", "true"]).demand()
    #expect(resource.endPoint.description == "builds" && resource.endPoint.isResource)
    #expect(resource.limits.requests == 1)
    #expect(try HoldCommand.parse(["gpu-0_b", "--slots", "2", "--", "true"]).demand().limits.requests == 2)
  }

  @Test(
    "a command needs no -- before it, unless its name begins with a dash",
    arguments: [
      ("hold builds make", "hold builds -- make"),
      ("hold builds --slots 2 swift build -c release", "hold builds --slots 2 -- swift build -c release"),
      ("hold --slots=2 --long builds make -- x", "hold --slots=2 --long builds -- make -- x"),
      ("hold a:80 --wait 3 -- -odd", "hold a:80 --wait 3 -- -odd"),
      ("hold builds --slots 2", "hold builds --slots 2"),
      ("hold --wait", "hold --wait"),
      ("fetch http://a/ http://b/", "fetch http://a/ http://b/"),
    ])
  func commandWithoutTerminator(given: String, completed: String) {
    let words = given.split(separator: " ").map { String($0) }
    #expect(HoldArguments.completed(words).joined(separator: " ") == completed)
  }

  @Test("the options of hold that take no value are known")
  func flags() {
    let help = RootCommand.helpMessage(for: HoldCommand.self, columns: 1000)
    let options = help.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }.filter { $0.hasPrefix("-") }
    let flags = options.filter { !$0.contains("<") }.flatMap {
      $0.split(separator: "  ")[0].split(separator: ", ").map { String($0) }
    }
    #expect(!flags.isEmpty && HoldArguments.flags == Set(flags))
  }
}
