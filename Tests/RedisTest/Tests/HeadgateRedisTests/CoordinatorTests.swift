import Foundation
import HeadgateDispatch
import HeadgateRedis
import HeadgateThreads
import Synchronization
import Testing

@testable import HeadgateRedis

/// Coordinators of several programs, here in one process, over a real server. Real time passes: leases are the server's.
@Suite struct CoordinatorTests {
  private func demand(_ limit: Int, _ port: Int = 1) throws -> SharedDemand {
    var limits = GateLimits.standard
    limits.endPoint = try EndPointLimits(requests: limit)
    return SharedDemand(for: try EndPoint(host: "example.com", port: port), limits: limits)
  }

  private func prepared(_ options: [String] = []) throws -> RedisServer {
    let server = try RedisServer(options)
    try RedisNamespace(server.url).configure(version: 1)
    return server
  }

  /// Waits for what another thread or process does, at most a minute.
  private func until(_ condition: () throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try !condition() {
      try #require(ContinuousClock.now < deadline)
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  @Test("Three programs together never exceed the limit, use it well, and take turns")
  func together() async throws {
    let server = try prepared()
    let demand = try demand(4)
    let running = Running()
    let begin = ContinuousClock.now
    let served = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<3 {
        let coordinator = try RedisCoordinator(server.url)
        for _ in 0..<8 {
          group.addTask {
            for _ in 0..<10 {
              try await coordinator.withPermit(for: demand) {
                running.begin()
                try await Task.sleep(for: .milliseconds(20))
                running.end()
              }
            }
            return 10
          }
        }
      }
      return try await group.reduce(0, +)
    }
    let elapsed = begin.duration(to: .now)
    #expect(served == 240)
    #expect(running.most == 4)
    print("utilisation of 4 permits of 20 ms over 3 programs: \(Duration.milliseconds(240 * 20 / 4) / elapsed)")
    // The last permits are returned on the coordinators' own threads.
    try await until { try RedisNamespace(server.url).status().scopes.allSatisfy { $0.running == 0 && $0.waiting == 0 } }
  }

  @Test("A restart shorter than the lease fails no request, and permits that are held stay counted")
  func restart() async throws {
    let server = try prepared(["--appendfsync", "always"])
    let (a, b) = (try RedisCoordinator(server.url), try RedisCoordinator(server.url))
    let permit = try await a.permit(for: demand(1))
    let got = Running()
    let waiting = Task {
      let permit = try await b.permit(for: demand(1))
      got.begin()
      return permit
    }
    try await until { try RedisNamespace(server.url).status().scopes.first?.waiting == 1 }
    server.kill(SIGKILL)
    try server.start()
    try await until { try RedisNamespace(server.url).status().scopes.first?.waiting == 1 }
    #expect(got.most == 0)
    permit.release()
    try await waiting.value.release()
  }

  @Test("What is held stays counted when Redis pauses or restarts for longer than the lease", arguments: [false, true])
  func longOutage(isRestart: Bool) async throws {
    let server = try prepared(["--appendfsync", "always"])
    let coordinators = try (0..<2).map { _ in try RedisCoordinator(server.url, lease: .seconds(3)) }
    let demand = try demand(2)
    let held = [try await coordinators[0].permit(for: demand), try await coordinators[1].permit(for: demand)]
    server.kill(isRestart ? SIGKILL : SIGSTOP)
    try await Task.sleep(for: .seconds(7))
    if isRestart { try server.start() } else { server.kill(SIGCONT) }
    let got = Running()
    let waiting = coordinators.map { coordinator in
      Task {
        let permit = try await coordinator.permit(for: demand)
        got.begin()
        return permit
      }
    }
    let namespace = try RedisNamespace(server.url)
    try await until { try got.most > 0 || namespace.status().scopes.first?.waiting == 2 }
    // A lease after they are back, the server has learned, and has ended the sessions that are not back.
    try await Task.sleep(for: .seconds(5))
    #expect(got.most == 0)
    #expect(try namespace.status().scopes.first?.running == 2)
    for permit in held { permit.release() }
    for task in waiting { try await task.value.release() }
  }

  @Test("A command that Redis refuses while the program is idle ends when Redis accepts commands again")
  func refusedWhileIdle() async throws {
    let server = try prepared()
    let operating = try ScriptClient(server, "operator").connection
    // Long enough for Redis to refuse commands before the idle program has left: afterwards it would send none.
    let coordinator = try RedisCoordinator(server.url, lease: .seconds(6))
    try await coordinator.permit(for: demand(1)).release()
    try await until { try RedisNamespace(server.url).status().scopes.first?.running == 0 }
    _ = try operating.call(["CONFIG", "SET", "maxmemory", "1"])
    // A renewal of the session, and at least two attempts to connect again.
    try await until {
      let errors = try operating.call(["INFO", "errorstats"]).text ?? ""
      let count = errors.split(separator: "errorstat_OOM:count=").last.flatMap { Int($0.prefix { $0.isNumber }) }
      return (count ?? 0) >= 3
    }
    _ = try operating.call(["CONFIG", "SET", "maxmemory", "0"])
    try await coordinator.permit(for: demand(1)).release()
  }

  @Test("After the server lost its data, what is held counts again before anything is granted")
  func wiped() async throws {
    let server = try prepared()
    // Long enough for the server to be there again before its end.
    let (a, b) = (
      try RedisCoordinator(server.url, lease: .seconds(15)), try RedisCoordinator(server.url, lease: .seconds(15))
    )
    let permit = try await a.permit(for: demand(2))
    server.kill(SIGKILL)
    try server.wipe()
    try server.start()
    let other = try await b.permit(for: demand(2))
    #expect(try RedisNamespace(server.url).status().scopes.first?.running == 2)
    permit.release()
    other.release()
  }

  @Test("A permit whose lease has ended meanwhile is not claimed of a server that believes every claim")
  func ended() async throws {
    let server = try prepared()
    let coordinator = try RedisCoordinator(server.url, lease: .seconds(1))
    let (lost, demand) = (try await coordinator.permit(for: demand(1)), try demand(1))
    server.kill(SIGKILL)
    try server.wipe()
    try await Task.sleep(for: .seconds(1))
    try server.start()
    // The only permit is free again, once the server has learned for a lease.
    try await coordinator.permit(for: demand).release()
    lost.release()
    try await until { try RedisNamespace(server.url).status().scopes.first?.running == 0 }
  }

  @Test("While Redis can't be reached, each policy does what it says; no error shows the password")
  func outage() async throws {
    let server = try prepared()
    server.kill(SIGKILL)
    let closed = try RedisCoordinator("redis://user:s3cret-word@127.0.0.1:1", outage: .failClosed(after: .zero))
    #expect(!closed.description.contains("s3cret-word"))
    let demand = try demand(1)
    do throws(DispatchError) {
      _ = try await closed.permit(for: demand)
      Issue.record("granted without Redis")
    } catch {
      #expect(error.code == .coordinatorUnavailable)
      #expect(!error.description.contains("s3cret-word"))
    }
    let open = try RedisCoordinator(server.url, outage: .failOpen(EndPointLimits(requests: 1)))
    try await open.permit(for: demand).release()
    let share = try RedisCoordinator(server.url, outage: .localShare)
    try await share.permit(for: demand).release()
  }

  @Test("An idle program leaves, and comes back when it is used; a shutdown ends what waits")
  func idle() async throws {
    let server = try prepared()
    let namespace = try RedisNamespace(server.url)
    let a = try RedisCoordinator(server.url, lease: .seconds(1))
    let first = try await a.permit(for: demand(1))
    // While it holds a permit it does not leave, however late this thread looks.
    #expect(try namespace.status().programs == 1)
    first.release()
    try await until { try namespace.status().programs == 0 }
    let permit = try await a.permit(for: demand(1))
    let b = try RedisCoordinator(server.url)
    let waiting = Task { try await b.permit(for: demand(1)) }
    try await until { try namespace.status().scopes.first?.waiting == 1 }
    b.shutDown()
    await #expect(throws: DispatchError.self) { try await waiting.value }
    permit.release()
    try await until { try namespace.status().scopes.first?.running == 0 }
  }

  @Test("Time passes for rates while a program is idle between its requests; at its end it leaves")
  func idleBetweenRequests() async throws {
    let server = try prepared()
    let connection = try RedisConnection(RedisURL(server.url))
    func seconds() throws -> (real: Double, counted: Double) {
      let time = try connection.call(["TIME"]).array?.compactMap { $0.text.flatMap(Double.init) } ?? []
      let clock = try connection.call(["HGET", "{headgate}:meta", "clock"]).text.flatMap(Double.init)
      return (try #require(time.first) + time[1] / 1e6, try #require(clock) / 1e6)
    }
    let coordinator = try RedisCoordinator(server.url, lease: .seconds(2))
    try await coordinator.permit(for: demand(1)).release()
    let first = try seconds()
    for _ in 0..<3 {
      try await Task.sleep(for: .milliseconds(1800))
      try await coordinator.permit(for: demand(1)).release()
    }
    let last = try seconds()
    #expect(last.counted - first.counted > (last.real - first.real) / 2)
    await coordinator.shutDown(waitingUntil: .after(.seconds(60)))
    #expect(try RedisNamespace(server.url).status().programs == 0)
  }

  /// The rights of docs/sharing.md.
  private static let documentedRights =
    "resetkeys ~{headgate}:* resetchannels &{headgate}:* -@all +auth +select +info +time +eval +evalsha +script|load "
    + "+subscribe +publish +hget +hset +hdel +hmget +hincrby +hkeys +zadd +zrem +zscore +zcard +zrangebylex "
    + "+zrangebyscore +zlexcount"

  @Test("A user with the documented rights runs everything, and sees no other namespace")
  func rights() async throws {
    let port = Int.random(in: 20_000...29_999)
    let user = ["--user", "gate", "on", ">a%b@c"] + Self.documentedRights.split(separator: " ").map { String($0) }
    let server = try RedisServer(user, port: port)
    let url = "redis://gate:a%25b%40c@127.0.0.1:\(port)/0"
    try RedisNamespace(url).configure(version: 1)
    let (a, b) = (try RedisCoordinator(url, lease: .seconds(1)), try RedisCoordinator(url, lease: .seconds(1)))
    let permit = try await a.permit(for: demand(1))
    async let second = b.permit(for: demand(1))
    permit.release()
    try await second.release()
    try await until { try RedisNamespace(url).status().programs == 0 }
    #expect(throws: RedisError.self) { try RedisNamespace(url, "other").status() }
    #expect(throws: RedisError.self) { try RedisNamespace("redis://gate:wrong@127.0.0.1:\(port)").status() }
    withExtendedLifetime(server) {}
  }
}

private final class Running: Sendable {
  private let count = Mutex((now: 0, most: 0))

  var most: Int { count.withLock { $0.most } }

  func begin() { count.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }

  func end() { count.withLock { $0.now -= 1 } }
}
