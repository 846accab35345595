import Foundation
import HeadgateDispatch
import HeadgateRedis
import Testing

@testable import HeadgateGate
@testable import HeadgateRedis

/// Pauses of all programs, and memory that is given back, on a real server.
@Suite struct PauseScriptTests {
  let server: RedisServer

  init() throws {
    server = try RedisServer()
    _ = try ScriptClient(server, "operator").configure(1)
  }

  private func pair() throws -> (ScriptClient, ScriptClient) {
    let (a, b) = (try ScriptClient.fresh(server, "a"), try ScriptClient.fresh(server, "b"))
    for client in [a, b] { try client.step("d", "e", "4|0||") }
    return (a, b)
  }

  /// Steps of both until one is granted a permit.
  private func grants(_ clients: ScriptClient..., within seconds: Double = 5) throws -> [ScriptClient] {
    let end = Date(timeIntervalSinceNow: seconds)
    while Date() < end {
      let granted = try clients.flatMap { client in
        try client.step("w", "e 1|", "4").grants.map { _ in client }
      }
      if !granted.isEmpty { return granted }
    }
    return []
  }

  @Test(
    "Nothing is granted during a pause, one permit after it, and two when that is returned; waiting programs are told")
  func probe() throws {
    let (a, b) = try pair()
    try a.step("w", "e 1|", "1")
    #expect(try a.step("p", "e", "2000000", "429", "r", "e 1|", "1").grants.isEmpty)
    let told = try b.step("w", "e 1|", "4")
    #expect(told.grants.isEmpty)
    let left = try #require(told.pauses["e"])
    #expect(left > 0 && left <= 2_000_000)
    let first = try grants(a, b)
    #expect(first.count == 1)
    let prober = try #require(first.first)
    for client in [a, b] { try client.step("w", "e 1|", "0") }
    // Unused: no answer, so another one probes.
    try prober.step("x", "e 1|", "1")
    let next = try grants(a, b)
    #expect(next.count == 1)
    #expect(try a.used("e") == 1)
    try #require(next.first).step("r", "e 1|", "1", "w", "e 1|", "4")
    _ = try [a.step("w", "e 1|", "4"), b.step("w", "e 1|", "4"), a.step()]
    #expect(try a.used("e") == 2)
  }

  @Test("A shorter pause changes nothing, and one is clamped to a day")
  func prolongs() throws {
    let (a, _) = try pair()
    let big = "\(Int64.max / 4)"
    try a.step("p", "e", big, "503")
    let left = try #require(try a.step("p", "e", "1000", "429", "w", "e 1|", "1").pauses["e"])
    #expect(left > 86_000_000_000 && left <= 86_400_000_000)
  }

  @Test("A program that dies during the probe frees its place")
  func deadProber() throws {
    // Shorter than the second after which there is a further probe.
    let (a, b) = (try ScriptClient.fresh(server, "a", lease: 300_000), try ScriptClient.fresh(server, "b"))
    for client in [a, b] { try client.step("d", "e", "4|0||") }
    try a.step("p", "e", "50000", "429")
    var probing: [ScriptClient] = []
    while probing.isEmpty { probing = try grants(a) }
    #expect(try b.step("w", "e 1|", "1").grants.isEmpty)
    #expect(try grants(b).count == 1)
  }

  @Test("A permit that was on its way when a program connected again is no probe that runs for ever")
  func lostProbe() throws {
    let (a, b) = (try ScriptClient.fresh(server, "a"), try ScriptClient.fresh(server, "b"))
    for client in [a, b] { try client.step("d", "e", "4|0||") }
    // After a pause this long, a second probe would be allowed ten seconds after the first one.
    _ = try b.connection.call(["HSET", "{t}:pauses", "e", "1 10000000 429 0 0 0 0;"])
    #expect(try grants(a).count == 1)
    #expect(try b.step("w", "e 1|", "1").grants.isEmpty)
    _ = try a.attach()
    #expect(try b.step().grants.count == 1)
  }

  @Test("A program without a session tells of a pause, and the permits of a class with scopes wait for its end-point")
  func told() throws {
    let (a, _) = try pair()
    let namespace = try RedisNamespace(server.url, "t")
    let endPoint = try EndPoint(host: "h", port: 80)
    try namespace.tell(try #require(SharedPause(at: endPoint, left: .seconds(60), .unreachable)))
    let step = try a.step("d", "h:80", "4|0||", "d", "g", "4|0||", "w", "h:80 1 g 1|", "1", "w", "e 1|", "1")
    #expect(step.grants.map(\.name) == ["e 1|"])
    #expect(Array(step.pauses.keys) == ["h:80"])
  }

  @Test("What is kept of end-points is given back when no program names them and their windows have passed")
  func memory() throws {
    let (a, b) = try pair()
    for host in 0..<40 {
      let name = "h\(host)"
      #expect(try b.step("d", name, "4|0|3:20000,1:1000|t:9:6000", "w", "\(name) 1|t:2", "1").grants.count == 1)
      try b.step("r", "\(name) 1|t:2", "1")
      if host % 2 == 0 { try b.step("u", name) }
    }
    while try b.run(.detach, b.tick, []).text == "MORE" {}
    let lengths = {
      try ["rules", "used", "starts", "declared", "wants"].map {
        try a.connection.call(["HLEN", "{t}:\($0)"]).integer ?? -1
      }
    }
    let end = Date(timeIntervalSinceNow: 20)
    // The end-point that the other program names stays.
    while try lengths() != [1, 0, 0, 1, 0], Date() < end { try a.step() }
    #expect(try lengths() == [1, 0, 0, 1, 0])
  }

  @Test("A session of many end-points ends in several small calls")
  func largeSession() throws {
    let (a, b) = try pair()
    for host in 0..<100 { try b.step("d", "h\(host)", "4|0||", "w", "h\(host) 1|", "1") }
    var calls = 0
    while try b.run(.detach, b.tick, []).text == "MORE" { calls += 1 }
    #expect(calls >= 5)
    #expect(try b.step().isLost)
    #expect(try a.step().programs == 1)
    #expect(try a.used("h7") == 0)
  }
}
