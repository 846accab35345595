import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateSharing

/// The texts of the permit protocol, with random values and random faults.
@Suite struct PermitProtocolTests {
  /// Random values, and what may be in names.
  private struct Source {
    var random: SeededRandom
    let names = ["", "a", "key:x", "100%", "a b", "x=1", "\u{301}e", "名", "\n", "\u{7F}\0", "%2", "🙂:🙂"]

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    mutating func name() -> String { (0...below(3)).map { _ in names[below(names.count)] }.joined() }
    mutating func number() -> UInt64 { below(5) == 0 ? .max : UInt64(below(1_000)) }
    mutating func period() -> Duration {
      let periods: [Duration] = [.seconds(1), .seconds(60), .nanoseconds(1_234_567_891), .seconds(3600)]
      return periods[below(4)]
    }

    mutating func endPoint() throws -> EndPoint {
      switch below(5) {
      case 4: try #require(EndPoint(resource: "builds_\(below(9))-A"))
      case 0: try EndPoint(unixSocket: "/run/" + name().filter { $0 != "\0" && !$0.utf8.contains(0) } + "s")
      case 1: try EndPoint(host: "::1", port: 1 + below(65_535))
      case 2: try EndPoint(host: "127.0.0.1", port: 80)
      default: try EndPoint(host: "api.example.com", port: 443)
      }
    }

    mutating func scope() -> RequestScope {
      switch below(3) {
      case 0: .key(name())
      case 1: .route(name())
      default: .group(name())
      }
    }

    mutating func rates() throws -> [Rate] {
      try (0..<below(3)).map { _ in
        let spread = below(2) == 0 ? Duration.zero : .milliseconds(1 + below(900))
        return below(2) == 0
          ? try .spaced(1 + below(100), per: period(), spread: spread)
          : try .rolling(1 + below(100), per: period(), spread: spread)
      }
    }

    mutating func budgets() throws -> [Budget] {
      try (0..<below(3)).map { try Budget("b\($0)" + name(), units: 1 + below(100_000), per: period()) }
    }

    mutating func endPointLimits() throws -> EndPointLimits {
      let requests = 1 + below(50)
      let interval = Duration.milliseconds(below(3) * 250)
      return below(3) == 0
        ? try EndPointLimits(
          requests: requests + 1, keepsRoomForShort: false, rates: rates(), minimumInterval: interval,
          budgets: budgets())
        : try EndPointLimits(
          requests: requests, rates: rates(), minimumInterval: interval, budgets: budgets())
    }

    mutating func scopeLimits() throws -> ScopeLimits {
      try ScopeLimits(
        requests: below(2) == 0 ? nil : 1 + below(50), rates: rates(), minimumInterval: .milliseconds(below(3)),
        budgets: budgets())
    }

    mutating func ask() throws -> PermitAsk {
      var ask = PermitAsk(try endPoint())
      ask.lane = below(2) == 0 ? .short : .long
      ask.scopes = (0..<below(4)).map { _ in scope() }
      for _ in 0..<below(3) { ask.weights[name()] = below(2) == 0 ? 0 : below(1_000_000) }
      return ask
    }

    mutating func command() throws -> PermitCommand {
      switch below(12) {
      case 8: .decline(number())
      case 9: .pause(try pause())
      case 10: .unknown("later")
      case 0: .limitEndPoint(try endPoint(), try endPointLimits())
      case 1: .limitScope(scope(), try scopeLimits())
      case 2: .taken(number())
      case 3: .cancel(number())
      case 4: .release(number())
      case 5: .settle(number(), try ask().weights)
      case 6: .status
      case 7: .state
      default: .ask(number(), try ask())
      }
    }

    mutating func pause() throws -> PermitPause {
      let causes = [SharedPause.Cause.refused(status: 429), .refused(status: nil), .unreachable]
      let left = Duration.milliseconds(1 + below(90_000_000))
      return PermitPause(try #require(SharedPause(at: endPoint(), left: left, causes[below(3)])))
    }

    mutating func reply() throws -> PermitReply {
      let text = ["too heavy", "", "a  b ", " x"][below(4)]
      return switch below(8) {
      case 4: .pause(try pause())
      case 5: .knows(below(2) == 0 ? [] : ["pause", "later"])
      case 6: .unknown("later")
      case 0: .granted(number(), pipe: "/run/user/1/a b/" + text + "7", programs: below(100))
      case 1: .refused(number(), code: "too_heavy", text)
      case 2: .status(text)
      case 3: .end
      default: .error(text)
      }
    }

    mutating func damaged(_ line: String) -> String {
      var bytes = Array(line.utf8)
      for _ in 0...below(3) {
        let index = below(bytes.count + 1)
        switch below(4) {
        case 0: bytes.insert(UInt8(below(256)), at: index)
        case 1: if index < bytes.count { bytes[index] = UInt8(below(256)) }
        case 2: bytes.removeSubrange(index...)
        default: bytes.insert(contentsOf: Array(":=% -9999999999999999999".utf8)[..<(1 + below(20))], at: index)
        }
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  @Test("every command and every reply reads back as itself, on one line", arguments: UInt64(1)...40)
  func roundTrips(seed: UInt64) throws {
    var source = Source(random: SeededRandom(seed: seed))
    for _ in 0..<100 {
      let command = try source.command()
      #expect(try PermitCommand(line: command.line) == command, "\(command.line)")
      #expect(!command.line.utf8.contains(10))
      let reply = try source.reply()
      #expect(PermitReply(line: reply.line) == reply, "\(reply.line)")
    }
  }

  @Test("every record reads back as itself", arguments: UInt64(1)...40)
  func records(seed: UInt64) throws {
    var source = Source(random: SeededRandom(seed: seed))
    for _ in 0..<50 {
      var scopes: [RequestScope: ScopeLimits] = [:]
      for _ in 0..<source.below(3) { scopes[source.scope()] = try source.scopeLimits() }
      let limits = source.below(4) == 0 ? nil : try source.endPointLimits()
      let record = PermitRecord(try source.ask(), (limits, scopes))
      #expect(PermitRecord(text: record.text) == record, "\(record.text)")
    }
  }

  @Test("a damaged line is read or refused, and what is read is a line again", arguments: UInt64(1)...40)
  func damage(seed: UInt64) throws {
    var source = Source(random: SeededRandom(seed: seed))
    for _ in 0..<100 {
      let line = source.damaged(try source.command().line)
      if let command = try? PermitCommand(line: line) {
        #expect(try PermitCommand(line: command.line) == command, "\(line)")
      }
      _ = PermitReply(line: source.damaged(try source.reply().line))
      _ = PermitRecord(text: source.damaged(PermitRecord(try source.ask(), (nil, [:])).text))
    }
  }

  @Test("a pause is clamped to a day, an outage to an hour, and one that is past is none")
  func clamped() throws {
    let now: Int64 = 1_764_000_000_000
    func left(_ until: Int64, _ cause: String) throws -> Duration? {
      guard case .pause(let pause) = try PermitCommand(line: "pause for=a:80 until=\(until) cause=\(cause)") else {
        return nil
      }
      return pause.pause(at: now)?.left
    }
    #expect(try left(now + 1500, "429") == .milliseconds(1500))
    #expect(try left(now + 1_000_000_000, "429") == .seconds(86_400))
    #expect(try left(.max, "503") == .seconds(86_400))
    #expect(try left(now + 1_000_000_000, "unreachable") == .seconds(3600))
    #expect(try left(now, "429") == nil)
    #expect(try left(0, "refused") == nil)
    for line in ["pause for=a:80 until=-1", "pause for=a:80 until=x", "pause until=1", "pause for=a.b until=1"] {
      #expect(throws: PermitProtocolError.self) { try PermitCommand(line: line) }
    }
  }

  /// Lines as they went over the wire before pauses were shared.
  @Test("what a program of an earlier version says is understood, and what is said to it is a line that it ignores")
  func earlier() throws {
    let endPoint = try EndPoint(host: "api.example.com", port: 443)
    let limits = try EndPointLimits(requests: 4, rates: [Rate("10/s")])
    let said = [
      "limit for=api.example.com:443 requests=4 long=2 rate=10/s", "ask 1 for=api.example.com:443", "taken 1",
      "settle 1 weight=tokens:400", "release 1", "cancel 2", "status",
    ]
    let meant: [PermitCommand] = [
      .limitEndPoint(endPoint, limits), .ask(1, PermitAsk(endPoint)), .taken(1), .settle(1, ["tokens": 400]),
      .release(1), .cancel(2), .status,
    ]
    #expect(try said.map { try PermitCommand(line: $0) } == meant)
    // It knows five words, and ignores a line that begins with another one.
    let known: Set = ["granted", "refused", "status", "end", "error"]
    let pause = PermitPause(try #require(SharedPause(at: endPoint, left: .seconds(1), .refused(status: 429))))
    for reply in [PermitReply.knows(["pause"]), .pause(pause), .unknown("later")] {
      #expect(!known.contains(String(reply.line.prefix { $0 != " " })))
    }
    // It reads a number and words of the form name=value, and of these words it needs none.
    #expect(PermitCommand.decline(7).line == "release 7 unused=yes")
  }

  @Test("a verb of a later version is no mistake; a known one with the wrong words is")
  func later() throws {
    #expect(try PermitCommand(line: "wish 7 for=a:80 colour=blue") == .unknown("wish"))
    for line in ["ask for=a:80", "status 1", "taken", "later words", ""] {
      #expect(throws: PermitProtocolError.self) { try PermitCommand(line: line) }
    }
  }

  @Test("a record whose limits are too long for a line still says what is held")
  func longRecord() throws {
    let ask = PermitAsk(try EndPoint(host: "a", port: 80))
    let long = "limit for=a:80 requests=1 " + (0..<800).map { "rate=\($0 + 1)/s" }.joined(separator: " ")
    let record = try #require(PermitRecord(text: long + "\n" + PermitCommand.ask(0, ask).line + "\n"))
    #expect(record.ask == ask && record.limits == nil)
  }

  @Test("a demand that the protocol can't express is refused by the program itself")
  func problems() throws {
    let endPoint = try EndPoint(host: "a", port: 80)
    #expect(SharedDemand(for: endPoint).problemOnTheWire == nil)
    let scopes = (0..<80).map { RequestScope.key(String(repeating: "x", count: 60) + "\($0)") }
    #expect(SharedDemand(for: endPoint, scopes: scopes).problemOnTheWire != nil)
    #expect(SharedDemand(for: endPoint, weights: ["a": -1]).problemOnTheWire != nil)
  }
}
