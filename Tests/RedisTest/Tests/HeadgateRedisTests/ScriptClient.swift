import Foundation
import HeadgateRedis

@testable import HeadgateRedis

/// Calls the scripts by hand, as one session.
final class ScriptClient {
  let connection: RedisConnection
  let name: String
  var tick = "0"
  var lease: Int
  /// How often the session has attached.
  var sequence = 0

  init(_ server: RedisServer, _ name: String, lease: Int = 5_000_000) throws {
    connection = try RedisConnection(RedisURL(server.url))
    (self.name, self.lease) = (name, lease)
  }

  static func fresh(_ server: RedisServer, _ name: String, lease: Int = 5_000_000) throws -> ScriptClient {
    let client = try ScriptClient(server, name, lease: lease)
    _ = try client.attach()
    return client
  }

  func run(_ script: RedisScript, _ tick: String, _ words: [String]) throws -> RESPValue {
    try connection.run(
      script, keys: RedisScript.keys("t"), [name, tick, "\(lease)", RedisScript.channel("t", "")] + words)
  }

  @discardableResult
  func attach(
    _ claims: [String: Int] = [:], run: String? = nil, epoch: String? = nil, sequence: Int? = nil, isStale: Bool = false
  ) throws -> (learning: Int, confirmed: [String: Int], isBelieved: Bool) {
    var server = run ?? ""
    if run == nil {
      let info = try connection.call(["INFO", "server"]).text ?? ""
      server = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("run_id:") }.map { String($0) } ?? ""
    }
    let words = claims.flatMap { [$0.key, "\($0.value)"] }
    self.sequence = sequence ?? self.sequence + 1
    let reply = try self.run(
      .attach, epoch ?? String(tick.prefix { $0 != "." }), [server, "\(self.sequence)", isStale ? "1" : "0"] + words)
    guard let parts = reply.array else { throw LateAttach() }
    tick = parts[0].text ?? ""
    var confirmed: [String: Int] = [:]
    let pairs = parts[2].array ?? []
    for place in stride(from: 0, to: pairs.count - 1, by: 2) {
      confirmed[pairs[place].text ?? ""] = Int(pairs[place + 1].integer ?? -1)
    }
    return (Int(parts[1].integer ?? -1), confirmed, parts[3].integer == 1)
  }

  struct Step {
    var isLost = false
    var learning = 0
    var programs = 0
    var retry = -1
    var grants: [(name: String, wait: Int, moment: String)] = []
    /// What is left of each pause, in microseconds.
    var pauses: [String: Int] = [:]
  }

  @discardableResult
  func step(_ words: String...) throws -> Step {
    let parts = try run(.step, tick, words).array ?? []
    guard parts.count == 7 else { return Step(isLost: true) }
    var step = Step()
    (step.learning, step.programs) = (Int(parts[1].integer ?? 0), Int(parts[2].integer ?? 0))
    step.retry = Int(parts[3].integer ?? 0)
    let found = parts[4].array ?? []
    for place in stride(from: 0, to: found.count - 2, by: 3) {
      step.grants.append(
        (found[place].text ?? "", Int(found[place + 1].integer ?? 0), found[place + 2].text ?? ""))
    }
    let paused = parts[5].array ?? []
    for place in stride(from: 0, to: paused.count - 2, by: 3) {
      step.pauses[paused[place].text ?? ""] = Int(paused[place + 1].integer ?? 0)
    }
    return step
  }

  func configure(_ version: Int, _ words: String...) throws -> Int {
    Int(try run(.configure, "", ["\(version)"] + words).integer ?? -1)
  }

  func used(_ scope: String) throws -> Int {
    Int(try connection.call(["HGET", "{t}:used", scope]).text ?? "0") ?? -1
  }
}

/// An attach was overtaken by a later one.
struct LateAttach: Error {}
