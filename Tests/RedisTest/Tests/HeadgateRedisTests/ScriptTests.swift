import Foundation
import HeadgateRedis
import Testing

@testable import HeadgateRedis

/// What the scripts do, on a real server.
@Suite struct ScriptTests {
  let server: RedisServer

  init() throws {
    server = try RedisServer()
    _ = try ScriptClient(server, "operator").configure(1)
  }

  @Test("Permits are granted up to the limit, and handed on to who has waited longest")
  func handOff() throws {
    let (a, b, c) = (
      try ScriptClient.fresh(server, "a"), try ScriptClient.fresh(server, "b"), try ScriptClient.fresh(server, "c")
    )
    #expect(try a.step("d", "e", "2|0||", "w", "e 1|", "3").grants.count == 2)
    #expect(try b.step("w", "e 1|", "1").grants.isEmpty)
    #expect(try c.step("w", "e 1|", "1").grants.isEmpty)
    // It has two and wants a third, but its turn is behind the others, who came later than its first wish.
    #expect(try a.step("r", "e 1|", "1").grants.count == 1)
    #expect(try a.step("r", "e 1|", "2").grants.isEmpty)
    #expect(try b.step().grants.count == 1)
    #expect(try c.step().grants.count == 1)
    #expect(try a.used("e") == 2)
  }

  @Test("Of several scopes all have room or nothing is granted; heavy permits are not overtaken")
  func scopes() throws {
    let (a, b, c) = (
      try ScriptClient.fresh(server, "a"), try ScriptClient.fresh(server, "b"), try ScriptClient.fresh(server, "c")
    )
    #expect(try a.step("d", "e", "3|0||", "d", "g", "1|0||", "w", "e 1 g 1|", "2").grants.count == 1)
    #expect(try a.used("e") == 1)
    #expect(try b.step("w", "e 3|", "1").grants.isEmpty)
    #expect(try c.step("w", "e 1|", "1").grants.isEmpty)
    // What waits for the group stands before b, but does not hold it up.
    #expect(try a.step("w", "e 1 g 1|", "0", "r", "e 1 g 1|", "1").grants.isEmpty)
    #expect(try b.step().grants.map(\.name) == ["e 3|"])
    #expect(try b.step("r", "e 3|", "1").grants.isEmpty)
    #expect(try c.step().grants.count == 1)
    #expect(try [a.used("e"), a.used("g")] == [1, 0])
  }

  @Test("Of declared limits the lowest applies while its program is there; set ones apply by version")
  func limits() throws {
    let (a, b) = (try ScriptClient.fresh(server, "a"), try ScriptClient.fresh(server, "b"))
    try a.step("d", "e", "5|0|1:10|t:5:10")
    try b.step("d", "e", "2|7|3:9|t:3:10")
    let rule = { try a.connection.call(["HGET", "{t}:rules", "e"]).text }
    #expect(try rule() == "2|7|1:10,3:9|t:3:10")
    _ = try b.run(.detach, b.tick, [])
    #expect(try rule() == "5|0|1:10|t:5:10")
    #expect(
      try [a.configure(2, "e", "4|0||"), a.configure(2, "e", "9|0||"), a.configure(1, "e", "8|0||")] == [1, 0, 0])
    #expect(try rule() == "4|0||")
  }

  @Test("Never more starts in a window than its count; reservations are spaced; what is far ahead waits")
  func rates() throws {
    let a = try ScriptClient.fresh(server, "a")
    let rolling = try a.step("d", "e", "|0|3:700000|", "w", "e 1|", "9").grants.map(\.wait)
    // Three at once, three a window later; those after would start more than a second ahead.
    #expect(rolling.count == 6)
    #expect(rolling.prefix(3).allSatisfy { $0 == 0 })
    #expect(rolling.suffix(3).allSatisfy { $0 == 700_000 })
    let spaced = try a.step("d", "f", "|0|1:300000|", "w", "f 1|", "9")
    #expect(spaced.grants.filter { $0.name == "f 1|" }.map(\.wait) == [0, 300_000, 600_000, 900_000])
    #expect((1...300_000).contains(spaced.retry))
  }

  @Test("A budget is charged, and refunded no more than was reserved; debt counts")
  func budgets() throws {
    let a = try ScriptClient.fresh(server, "a")
    let first = try a.step("d", "e", "|0||t:100:60000000", "w", "e 1|t:60", "2")
    #expect(first.grants.count == 1)
    #expect((1...61_000_000).contains(first.retry))
    let moment = first.grants[0].moment
    // Thirty were used: 60 and 30 fit.
    #expect(try a.step("s", "e 1|t:60", moment, "t", "60", "30", "w", "e 1|t:60", "1").grants.count == 1)
    // The refund is all that is left in that part, and not below nothing.
    let refunded = try a.step("s", "e 1|t:60", moment, "t", "60", "-9999", "w", "e 1|t:60", "2")
    #expect(refunded.grants.count == 1)
    #expect(try a.step("s", "e 1|t:60", moment, "t", "60", "200", "w", "e 1|t:10", "1").grants.isEmpty)
  }

  @Test("A crash gives everything back; after a quarantine where there is one")
  func crash() throws {
    // The short lease begins last.
    let b = try ScriptClient.fresh(server, "b", lease: 60_000_000)
    let a = try ScriptClient.fresh(server, "a", lease: 2_000_000)
    let begin = Date()
    #expect(try a.step("d", "e", "1|0||", "d", "q", "1|300000||", "w", "e 1|", "1", "w", "q 1|", "1").grants.count == 2)
    try b.step("d", "q", "1|300000||", "w", "e 1|", "1", "w", "q 1|", "1")
    var moments: [String: Double] = [:]
    // Real time: it is a lease of the server's.
    while moments.count < 2, Date().timeIntervalSince(begin) < 60 {
      for grant in try b.step().grants { moments[grant.name] = Date().timeIntervalSince(begin) }
      usleep(20_000)
    }
    #expect(try #require(moments["e 1|"]) > 1.9)
    #expect(try #require(moments["q 1|"]) > 2.2)
    #expect(try a.step().isLost)
    // A later claim of what others have now is refused.
    #expect(try a.attach(["e": 1]).confirmed == ["e": 0])
    #expect(try b.used("e") == 1)
  }

  @Test("A program that attaches after its lease leaves its permits to the quarantine, also if nobody has noticed")
  func unnoticed() throws {
    let a = try ScriptClient.fresh(server, "a")
    #expect(try a.step("d", "q", "1|300000||", "w", "q 1|", "1").grants.count == 1)
    #expect(try a.connection.call(["ZADD", "{t}:sessions", "1", "a"]).integer == 0)
    // Real time: it is a time of the server's. It passes from the attach on, also while this thread is suspended.
    let begin = Date()
    #expect(try a.attach(["q": 1]).confirmed == ["q": 0])
    #expect(try a.used("q") == 1)
    while try a.used("q") > 0, Date().timeIntervalSince(begin) < 60 {
      try a.step()
      usleep(20_000)
    }
    #expect(try a.used("q") == 0)
    #expect(Date().timeIntervalSince(begin) > 0.25)
  }

  @Test("A program whose lease ends again before its quarantine is over has all of its units back in the end")
  func unnoticedTwice() throws {
    let a = try ScriptClient.fresh(server, "a")
    for count in 1...2 {
      // So long that the second lease ends within the first quarantine, even if this thread is suspended for a while.
      #expect(try a.step("d", "q", "2|5000000||", "w", "q 1|", "1").grants.count == 1)
      _ = try a.connection.call(["ZADD", "{t}:sessions", "1", "a"])
      #expect(try a.attach(["q": 1]).confirmed == ["q": 0])
      #expect(try a.used("q") == count)
    }
    // Real time: it is a time of the server's.
    let begin = Date()
    while try a.used("q") > 0, Date().timeIntervalSince(begin) < 60 {
      try a.step()
      usleep(20_000)
    }
    #expect(try a.used("q") == 0)
  }

  @Test("A late packet of an earlier generation has no effect")
  func late() throws {
    let a = try ScriptClient.fresh(server, "a")
    try a.step("d", "e", "1|0||", "w", "e 1|", "1")
    let old = a.tick
    #expect(try a.attach(["e": 1]).confirmed == ["e": 1])
    let new = a.tick
    a.tick = old
    #expect(try a.step("r", "e 1|", "1").isLost)
    #expect(try a.used("e") == 1)
    a.tick = new
    // A grant whose reply was lost: what is not claimed is free.
    try a.step("r", "e 1|", "1", "w", "e 1|", "1")
    try a.attach()
    #expect(try a.used("e") == 0)
  }

  @Test("An attach that a later one has overtaken has no effect, until the session has ended")
  func overtaken() throws {
    let a = try ScriptClient.fresh(server, "a")
    try a.step("d", "e", "3|0||", "w", "e 1|", "3")
    #expect(try a.attach(["e": 2], sequence: 9).confirmed == ["e": 2])
    for sequence in [1, 8, 9] {
      #expect(throws: LateAttach.self) { try a.attach(["e": 1], run: "another", sequence: sequence) }
    }
    #expect(try a.used("e") == 2)
    #expect(try !a.step().isLost)
    #expect(try a.attach(["e": 2], sequence: 10).confirmed == ["e": 2])
    _ = try a.run(.detach, a.tick, [])
    #expect(try a.connection.call(["HKEYS", "{t}:ticks"]).array?.isEmpty == true)
    #expect(try a.attach(["e": 2], sequence: 1).confirmed == ["e": 0])
  }

  @Test("A program with many limits leaves in short calls, and can't go on after the first of them")
  func leaving() throws {
    let a = try ScriptClient.fresh(server, "a")
    _ = try a.run(.step, a.tick, (1...200).flatMap { ["d", "e\($0)", "1|0||"] })
    #expect(try a.run(.detach, a.tick, []).text == "MORE")
    #expect(try a.step().isLost)
    var calls = 1
    repeat { calls += 1 } while try a.run(.detach, a.tick, []).text == "MORE"
    #expect(calls <= 15)
    #expect(try a.connection.call(["ZCARD", "{t}:sessions"]).integer == 0)
    #expect(try a.connection.call(["HLEN", "{t}:declared"]).integer == 0)
  }

  @Test("What a program does not claim is free, in however many scopes it was")
  func unclaimed() throws {
    let a = try ScriptClient.fresh(server, "a")
    let scopes = (1...1_001).map { "s\($0) 1" }.joined(separator: " ")
    #expect(try a.step("w", scopes + "|", "1").grants.count == 1)
    try a.attach()
    let used = try #require(try a.connection.call(["HVALS", "{t}:used"]).array)
    #expect(used.isEmpty)
  }

  @Test("Of declared limits the lowest applies, however many programs have declared others")
  func manyDeclarations() throws {
    let others = try (0..<256).map { try ScriptClient.fresh(server, "a\($0)") }
    for other in others { try other.step("d", "e", "8|0||") }
    let last = try ScriptClient.fresh(server, "z")
    #expect(try last.step("d", "e", "1|0||", "w", "e 1|", "2").grants.count == 1)
  }

  @Test("A program behind many that wait for another scope is served")
  func behind() throws {
    let holder = try ScriptClient.fresh(server, "holder")
    #expect(try holder.step("d", "e", "9|0||", "d", "g", "1|0||", "w", "g 1|", "1").grants.count == 1)
    let blocked = try (0..<12).map { try ScriptClient.fresh(server, "blocked\($0)") }
    for client in blocked { #expect(try client.step("w", "e 1 g 1|", "1").grants.isEmpty) }
    let last = try ScriptClient.fresh(server, "last")
    #expect(try last.step("w", "e 1|", "1").grants.count == 1)
    // In the order of the line.
    try holder.step("r", "g 1|", "1")
    #expect(try blocked[0].step().grants.count == 1)
    #expect(try blocked[1].step().grants.isEmpty)
  }
}
