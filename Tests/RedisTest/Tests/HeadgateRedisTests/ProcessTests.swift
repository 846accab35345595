import Foundation
import HeadgateDispatch
import HeadgateRedis
import Testing

@testable import HeadgateRedis

/// Several processes at one limit, some of which are killed or paused, counted by a judge. Real time passes.
///
/// `HEADGATE_REDIS_SECONDS` is how long each test runs, `HEADGATE_REDIS_PROCESSES` with how many processes.
@Suite struct ProcessTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seconds = environment["HEADGATE_REDIS_SECONDS"].flatMap { Double($0) } ?? 4
  private static let number = environment["HEADGATE_REDIS_PROCESSES"].flatMap { Int($0) } ?? 8
  private static let limit = 4

  private func start(_ arguments: [String]) throws -> Process {
    let worker = Process()
    // Beside the test bundle.
    worker.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "worker")
    worker.arguments = arguments
    try worker.run()
    return worker
  }

  private func start(_ url: String, _ judge: Judge, milliseconds: Int, limit: Int = limit) throws -> Process {
    try start([url, "\(limit)", "\(milliseconds)", judge.path])
  }

  /// - Parameter quarantine: In seconds, with the limit of all tests.
  private func prepared(quarantine: Int = 0) throws -> (RedisServer, Judge) {
    let server = try RedisServer()
    let limits = [try EndPoint(host: "example.com", port: 1): try EndPointLimits(requests: Self.limit)]
    try RedisNamespace(server.url).configure(
      version: 1, endPoints: quarantine > 0 ? limits : [:], quarantine: .seconds(quarantine))
    return (server, try Judge(server.folder))
  }

  /// Waits for what other processes do, at most a minute.
  private func until(_ condition: () -> Bool) -> Bool {
    let begin = Date()
    while !condition() {
      guard Date().timeIntervalSince(begin) < 60 else { return false }
      usleep(10_000)
    }
    return true
  }

  private func end(_ workers: [Process]) {
    for worker in workers where worker.isRunning { kill(worker.processIdentifier, SIGKILL) }
    for worker in workers { worker.waitUntilExit() }
  }

  @Test("Killed programs never make more run than the limit, and what they held is used again")
  func killed() throws {
    let (server, judge) = try prepared()
    var workers = try (0..<Self.number).map { _ in try start(server.url, judge, milliseconds: 30) }
    defer { end(workers) }
    let begin = Date()
    var kills = 0
    while Date().timeIntervalSince(begin) < Self.seconds {
      usleep(200_000)
      let place = Int.random(in: workers.indices)
      kill(workers[place].processIdentifier, SIGKILL)
      workers[place].waitUntilExit()
      workers[place] = try start(server.url, judge, milliseconds: 30)
      kills += 1
    }
    let most = judge.count.most
    judge.reset()
    let isUsed = until { judge.count.served.values.reduce(0, +) > 50 }
    #expect(isUsed)
    print("\(kills) kills; most at once \(max(most, judge.count.most)) of \(Self.limit)")
    #expect(max(most, judge.count.most) <= Self.limit)
  }

  @Test(
    "A program that is paused for two leases: no more run than the limit and its own requests, or with a quarantine",
    arguments: [0, 3])
  func paused(quarantine: Int) throws {
    let (server, judge) = try prepared(quarantine: quarantine)
    let workers = try (0..<Self.number).map { _ in try start(server.url, judge, milliseconds: 30) }
    defer { end(workers) }
    let begin = Date()
    var pauses = 0
    repeat {
      usleep(500_000)
      let process = try #require(workers.randomElement()).processIdentifier
      kill(process, SIGSTOP)
      usleep(2_000_000)
      kill(process, SIGCONT)
      pauses += 1
    } while Date().timeIntervalSince(begin) < Self.seconds
    let areServed = until { judge.count.served.count == Self.number }
    #expect(areServed)
    let count = judge.count
    print("\(pauses) pauses, quarantine \(quarantine) s; most at once \(count.most) of \(Self.limit)")
    #expect(count.most <= Self.limit + (quarantine > 0 ? 0 : 2))
  }

  @Test(
    "Kills, pauses, cut and silent links, restarts, lost data, clock steps: no more run than the limit and the paused ran"
  )
  func storm() throws {
    let (server, judge) = try prepared()
    // Each program has a link of its own.
    let links = try (0..<Self.number).map { place in
      let path = server.folder.appending(path: "link\(place)").path
      return (url: "unix:\(path)", relay: try start(["relay", path, server.folder.appending(path: "r.sock").path]))
    }
    var workers = try links.map { try start($0.url, judge, milliseconds: 50, limit: 8) }
    defer { end(workers + links.map { $0.relay }) }
    var silent: [(relay: Int32, until: Date)] = []
    var paused: [(process: Int32, until: Date)] = []
    var resumed: [(process: Int32, moment: Date)] = []
    var done: [String: Int] = [:]
    let begin = Date()
    var nextRestart = begin + 2
    while Date().timeIntervalSince(begin) < max(6, Self.seconds) {
      usleep(UInt32.random(in: 50_000...300_000))
      // A request that fails ends its worker.
      let areRunning = workers.allSatisfy { $0.isRunning }
      #expect(areRunning)
      for place in paused.indices.reversed() where paused[place].until < Date() {
        let process = paused.remove(at: place).process
        kill(process, SIGCONT)
        resumed.append((process, Date()))
      }
      // It counts again when it has ended what it ran, a lease after it goes on. A restart may have delayed this loop.
      for place in resumed.indices.reversed() where resumed[place].moment + 1 < Date() {
        judge.exempt(resumed.remove(at: place).process, false)
      }
      for place in silent.indices.reversed() where silent[place].until < Date() {
        kill(silent.remove(at: place).relay, SIGCONT)
      }
      let place = Int.random(in: workers.indices)
      let process = workers[place].processIdentifier
      let relay = links[place].relay.processIdentifier
      switch Int.random(in: 0..<10) {
      case 0..<5 where !paused.contains { $0.process == process }:
        kill(process, SIGKILL)
        workers[place].waitUntilExit()
        workers[place] = try start(links[place].url, judge, milliseconds: 50, limit: 8)
        done["kills", default: 0] += 1
      case 5 where paused.count < 6 && !judge.count.exempt.contains(process):
        judge.exempt(process, true)
        kill(process, SIGSTOP)
        // Two leases.
        paused.append((process, Date() + 2))
        done["pauses", default: 0] += 1
      case 6, 7:
        let kind = Bool.random() ? "normal" : "pubsub"
        _ = try? ScriptClient(server, "cutter").connection.call(["CLIENT", "KILL", "TYPE", kind])
        done["cuts", default: 0] += 1
      case 8 where silent.count < 6 && !silent.contains { $0.relay == relay }:
        // What is sent meanwhile arrives late, when the lease has ended. The program itself counts: it knows the time.
        kill(relay, SIGSTOP)
        silent.append((relay, Date() + Double.random(in: 0.2...2.5)))
        done["silences", default: 0] += 1
      case 9:
        // The clock steps by an hour, as in `RestartTests.clockStep`.
        let step = Bool.random() ? "3600000000" : "-3600000000"
        _ = try? ScriptClient(server, "operator").connection.call(["HINCRBY", "{headgate}:meta", "offset", step])
        done["clock steps", default: 0] += 1
      default: break
      }
      guard nextRestart < Date() else { continue }
      nextRestart = Date() + Double.random(in: 2...10)
      server.kill(SIGKILL)
      if Int.random(in: 0..<4) == 0 {
        try server.wipe()
        done["wipes", default: 0] += 1
      }
      usleep(UInt32.random(in: 0...400_000))
      try server.start()
      done["restarts", default: 0] += 1
    }
    for pause in paused { kill(pause.process, SIGCONT) }
    let count = judge.count
    print("\(done): most at once \(count.most) of 8, served \(count.served.values.reduce(0, +))")
    #expect(count.most <= 8)
    #expect(count.served.values.reduce(0, +) > 20)
  }

  @Test("Programs are served evenly, and the permits are used")
  func even() throws {
    let (server, judge) = try prepared()
    let workers = try (0..<Self.number).map { _ in try start(server.url, judge, milliseconds: 50, limit: 8) }
    defer { end(workers) }
    let areServed = until { judge.count.served.count == Self.number }
    #expect(areServed)
    judge.reset()
    let begin = Date()
    usleep(UInt32(Self.seconds * 1_000_000))
    let (count, elapsed) = (judge.count, Date().timeIntervalSince(begin))
    let (least, most) = (count.served.values.min() ?? 0, count.served.values.max() ?? 0)
    let use = Double(count.served.values.reduce(0, +)) * 0.05 / 8 / elapsed
    print(
      "8 permits of 50 ms, \(Self.number) programs: utilisation \(use), served \(least) to \(most), at most \(count.most)"
    )
    #expect(count.most <= 8)
    // Within some seconds a busy machine may keep single programs from running.
    let isLong = Self.environment["HEADGATE_REDIS_SECONDS"] != nil
    #expect(Double(most) <= (isLong ? 2 : 5) * Double(max(1, least)) + (isLong ? 2 : 10))
    #expect(use > (isLong ? 0.3 : 0.05))
    let statistics = try ScriptClient(server, "reader").connection.call(["INFO", "latencystats"]).text ?? ""
    print(statistics.split(whereSeparator: \.isNewline).filter { $0.contains("eval") }.joined(separator: "\n"))
  }
}
