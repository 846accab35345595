import Foundation
import HeadgateRedis
import Testing

@testable import HeadgateRedis

/// What the scripts do after a restart, on an empty server, and when the clock steps.
@Suite struct RestartTests {
  @Test("After a restart with its log nothing is granted until all have declared, then at once")
  func log() throws {
    let server = try RedisServer(["--appendfsync", "always"])
    _ = try ScriptClient(server, "operator").configure(1)
    var (a, b) = (try ScriptClient.fresh(server, "a"), try ScriptClient.fresh(server, "b"))
    try a.step("d", "e", "3|0||", "w", "e 1|", "1")
    try b.step("d", "e", "3|0||", "w", "e 1|", "1")
    let ticks = [a.tick, b.tick]
    server.kill(SIGKILL)
    try server.start()
    (a, b) = (try ScriptClient(server, "a"), try ScriptClient(server, "b"))
    (a.tick, b.tick) = (ticks[0], ticks[1])
    (a.sequence, b.sequence) = (1, 1)
    let first = try a.attach(["e": 1])
    #expect((4_000_000...5_000_000).contains(first.learning))
    #expect(try a.step("w", "e 1|", "1").grants.isEmpty)
    #expect(try b.attach(["e": 1]).learning == 0)
    #expect(try a.step("w", "e 1|", "1").grants.count == 1)
    #expect(try a.used("e") == 3)
  }

  @Test("A claim whose lease has ended is not believed: a server goes by its log, and an empty one confirms nothing")
  func stale() throws {
    let server = try RedisServer(["--appendfsync", "always"])
    _ = try ScriptClient(server, "operator").configure(1)
    let a = try ScriptClient.fresh(server, "a")
    try a.step("d", "e", "3|0||", "w", "e 1|", "2")
    let restarted = try a.attach(["e": 3], run: "another", isStale: true)
    #expect(restarted.confirmed == ["e": 2] && !restarted.isBelieved)
    let valid = try a.attach(["e": 2], run: "a third")
    #expect(valid.confirmed == ["e": 2] && valid.isBelieved)
    _ = try a.connection.call(["FLUSHALL"])
    let empty = try a.attach(["e": 2], isStale: true)
    #expect(empty.learning > 0)
    #expect(empty.confirmed == ["e": 0] && !empty.isBelieved)
  }

  // The first bug of the sketch: learning ended when all *known* programs were back, and an empty server knows none.
  @Test("An empty server learns for a whole lease, and then grants what is free")
  func empty() throws {
    let server = try RedisServer()
    let begin = Date()
    let a = try ScriptClient(server, "a", lease: 2_000_000)
    #expect(try a.attach(["e": 2]).learning == 2_000_000)
    let c = try ScriptClient(server, "c", lease: 2_000_000)
    #expect(try c.attach().learning > 0)
    #expect(try c.step("d", "e", "3|0||", "w", "e 1|", "3").grants.isEmpty)
    var count = 0
    while count == 0, Date().timeIntervalSince(begin) < 60 {
      #expect(try !a.step().isLost)
      count = try c.step("w", "e 1|", "3").grants.count
      usleep(20_000)
    }
    #expect(Date().timeIntervalSince(begin) > 1.9)
    #expect(count == 1)
    #expect(try c.used("e") == 3)
  }

  // The second bug of the sketch: epochs in seconds, so that an empty server came to one that was before.
  @Test("A server that has lost everything comes to an epoch that was not before, and old ticks mean nothing there")
  func epochs() throws {
    let server = try RedisServer()
    var epochs: [Int] = []
    var a = try ScriptClient(server, "a")
    for _ in 0..<3 {
      let (tick, known) = (a.tick, a)
      try a.attach()
      epochs.append(Int(a.tick.prefix { $0 != "." }) ?? 0)
      if epochs.count > 1 {
        let new = a.tick
        a.tick = tick
        #expect(try known.step().isLost)
        a.tick = new
      }
      _ = try a.connection.call(["FLUSHALL"])
      a = try ScriptClient(server, "a")
      a.tick = known.tick
    }
    #expect(epochs == epochs.sorted() && Set(epochs).count == 3)
    // Another program, which knows a higher epoch than this server's clock would give.
    let b = try ScriptClient(server, "b")
    try b.attach(epoch: "9999999999999")
    #expect(b.tick.hasPrefix("10000000000000."))
  }

  @Test("A namespace that lost its data and was configured again learns from a program that was there")
  func configuredAgain() throws {
    let server = try RedisServer()
    let operating = try ScriptClient(server, "operator")
    _ = try operating.configure(1, "e", "1|0||")
    let a = try ScriptClient.fresh(server, "a")
    #expect(try a.step("w", "e 1|", "1").grants.count == 1)
    _ = try a.connection.call(["FLUSHALL"])
    _ = try operating.configure(1, "e", "1|0||")
    #expect(try a.step().isLost)
    let again = try a.attach(["e": 1])
    #expect(again.learning > 0)
    #expect(again.confirmed == ["e": 1])
    let b = try ScriptClient.fresh(server, "b")
    #expect(try b.step("w", "e 1|", "1").grants.isEmpty)
  }

  @Test("Where the run is not known, a program that comes back makes a restart of it")
  func unknownRun() throws {
    let server = try RedisServer()
    let operating = try ScriptClient(server, "operator")
    _ = try operating.configure(1)
    let (a, b) = (try ScriptClient(server, "a"), try ScriptClient(server, "b"))
    #expect(try a.attach(run: "").learning == 0)
    #expect(try b.attach(run: "").learning == 0)
    #expect(try a.attach(run: "unknown-1").learning > 0)
    #expect(try b.step().isLost)
    #expect(try b.attach(run: "").learning == 0)
  }

  @Test("Programs that do not know the run make one restart each, and then agree on an epoch")
  func unknownRuns() throws {
    let server = try RedisServer(["--user", "default", "on", "nopass", "~*", "&*", "+@all", "-info"])
    let url = try RedisURL(server.url)
    let sessions = try ["a", "b"].map { name in
      try RedisSession(url, namespace: "t", name: name, lease: .seconds(60), isFirst: false, validUntil: .now)
    }
    for session in sessions { _ = try session.attach(epoch: "0", sequence: 1, claims: [:], isStale: false) }
    #expect(try sessions[0].step([]) == nil)
    _ = try sessions[0].attach(epoch: "0", sequence: 2, claims: [:], isStale: false)
    #expect(try sessions[0].step([]) != nil)
    #expect(try sessions[1].step([]) != nil)
  }

  // The scripts add an offset to the server's clock, and a step of either is the same to them. (libfaketime, which would
  // step the clock itself, does not start a server with jemalloc.)
  @Test("A step of the clock ends no lease and admits nothing twice", arguments: ["3600000000", "-3600000000"])
  func clockStep(step: String) throws {
    let server = try RedisServer()
    _ = try ScriptClient(server, "operator").configure(1)
    let (a, b) = (try ScriptClient.fresh(server, "a"), try ScriptClient.fresh(server, "b"))
    try b.step()
    #expect(try a.step("d", "e", "1|0|2:60000000|", "w", "e 1|", "1").grants.count == 1)
    _ = try a.connection.call(["HINCRBY", "{t}:meta", "offset", step])
    #expect(try b.step("w", "e 1|", "1").grants.isEmpty)
    #expect(try !a.step("r", "e 1|", "1").isLost)
    #expect(try b.step().grants.count == 1)
    // Two starts a minute, of which none has become old by the step.
    #expect(try a.step("w", "e 1|", "1").grants.isEmpty)
    #expect(try b.step("r", "e 1|", "1", "w", "e 1|", "1").grants.isEmpty)
  }

  @Test("A step of the clock ends no lease if an operator's script is the first to see it")
  func clockStepBeforeStatus() throws {
    let server = try RedisServer()
    _ = try ScriptClient(server, "operator").configure(1)
    let a = try ScriptClient.fresh(server, "a")
    #expect(try a.step("d", "e", "1|0||", "w", "e 1|", "1").grants.count == 1)
    // Longer than the programs' leases, and shorter than half of the longest possible one.
    _ = try a.connection.call(["HINCRBY", "{t}:meta", "offset", "20000000"])
    _ = try RedisNamespace(server.url, "t").status()
    #expect(try !a.step().isLost)
    #expect(try a.used("e") == 1)
  }
}
