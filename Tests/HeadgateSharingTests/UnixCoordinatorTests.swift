import Foundation
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateSharing

/// Coordinators of several programs, played by one process over real sockets and pipes.
@Suite struct UnixCoordinatorTests {
  private let place = SharingPlace()
  private let deadline = Deadline.after(.seconds(60))

  private func demand(_ requests: Int, _ scopes: [RequestScope] = []) throws -> SharedDemand {
    SharedDemand(
      for: try EndPoint(host: "a", port: 80), scopes: scopes,
      limits: try GateLimits(endPoint: EndPointLimits(requests: requests)))
  }

  /// Asks and waits until the server knows.
  private func asked(_ coordinator: UnixCoordinator, _ demand: SharedDemand) -> Task<any SharedPermit, any Error> {
    Task { try await coordinator.permit(for: demand) }
  }

  @Test("two programs share one limit, and a permit that one returns goes to the other")
  func shared() async throws {
    let (first, second) = (UnixCoordinator(folder: place.folder), UnixCoordinator(folder: place.folder))
    let demand = try demand(1)
    let permit = try await first.permit(for: demand)
    let other = asked(second, demand)
    // The first program asks again behind the second one, whose request is the older one or not yet here.
    permit.release()
    #expect(!permit.release())
    let next = try await other.value
    next.release()
    try await first.permit(for: demand).release()
  }

  @Test("never more permits than the limit, with many programs that hold, cancel and die")
  func crowd() async throws {
    let running = LockedBox((now: 0, most: 0))
    let demand = try demand(3)
    let folder = place.folder
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<8 {
        group.addTask {
          let coordinator = UnixCoordinator(folder: folder)
          for round in 0..<20 {
            if (index + round) % 5 == 0 {
              let lost = Task { try await coordinator.permit(for: demand) }
              lost.cancel()
              if let permit = try? await lost.value { permit.release() }
              continue
            }
            // The first program holds two at a time, so that permits overlap.
            var permits: [any SharedPermit] = []
            for _ in 0..<(index == 0 ? 2 : 1) {
              permits.append(try await coordinator.permit(for: demand))
              running.withLock { running in
                running.now += 1
                running.most = max(running.most, running.now)
              }
            }
            running.withLock { $0.now -= permits.count }
            for permit in permits { permit.release() }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(running.withLock { $0.most } <= 3)
    #expect(running.withLock { $0.most } > 1)
  }

  @Test("a server that ends leaves the permits to their holders, and the next one counts them")
  func succession() async throws {
    let server = try #require(try PermitServer.start(in: place.folder))
    #expect(try PermitServer.start(in: place.folder) == nil)
    let (first, second) = (UnixCoordinator(folder: place.folder), UnixCoordinator(folder: place.folder))
    let demand = try demand(2)
    let held = [try await first.permit(for: demand), try await first.permit(for: demand)]
    let other = asked(second, demand)
    // Otherwise the task of the later request might ask first, and keep the only permit that is returned.
    _ = try await status { $0.contains { $0.hasSuffix("permits held: 2, waiting: 1") } }
    server.stop()
    server.wait()
    // A new server was started by one of the coordinators, and has found both pipes.
    let late = asked(second, demand)
    let snapshot = try await status(until: { $0.contains { $0.hasSuffix("permits held: 2, waiting: 2") } })
    #expect(snapshot.contains { $0.contains("a:80") })
    // Returned without a word to the new server, which sees the pipe close.
    held[0].release()
    let one = try await other.value
    held[1].release()
    let two = try await late.value
    one.release()
    two.release()
  }

  /// The server's state, once it fulfils a condition.
  private func status(until isReady: ([String]) -> Bool) async throws -> [String] {
    while deadline > .now {
      let lines = (try? PermitStatus.read(from: place.folder)) ?? []
      if isReady(lines) { return lines }
      try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("the server did not reach the state")
    return []
  }

  @Test("the strictest limits apply, and a program's scopes are counted with its end-point")
  func strictest() async throws {
    let (first, second) = (UnixCoordinator(folder: place.folder), UnixCoordinator(folder: place.folder))
    let wide = try await first.permit(for: demand(5))
    let narrow = asked(second, try demand(1))
    _ = try await status { $0.contains { $0.hasSuffix("waiting: 1") } }
    wide.release()
    try await narrow.value.release()
  }

  @Test("a weight that the protocol can't express does not end the requests that wait")
  func settled() async throws {
    let coordinator = UnixCoordinator(folder: place.folder)
    let demand = try demand(1)
    let permit = try await coordinator.permit(for: demand)
    let waiting = asked(coordinator, demand)
    _ = try await status { $0.contains { $0.hasSuffix("waiting: 1") } }
    #expect(permit.settle(["tokens": -5]))
    let names = (0..<80).map { String(repeating: "x", count: 60) + "\($0)" }
    #expect(!permit.settle(Dictionary(uniqueKeysWithValues: names.map { ($0, 1) })))
    permit.release()
    try await waiting.value.release()
  }

  @Test("a folder that can't be used is an outage")
  func outage() async throws {
    _ = FileManager.default.createFile(atPath: place.folder.path, contents: nil)
    let coordinator = UnixCoordinator(folder: place.folder, outage: .failClosed(after: .zero))
    let demand = try demand(1)
    do throws(DispatchError) {
      _ = try await coordinator.permit(for: demand)
      Issue.record("a permit without a folder")
    } catch {
      #expect(error.code == .coordinatorUnavailable)
      #expect(error.detail.contains(place.folder.path))
    }
  }

  @Test("a shutdown ends waiting requests; held permits stay valid")
  func shutDown() async throws {
    let coordinator = UnixCoordinator(folder: place.folder)
    let demand = try demand(1)
    let permit = try await coordinator.permit(for: demand)
    let waiting = asked(coordinator, demand)
    _ = try await status { $0.contains { $0.hasSuffix("waiting: 1") } }
    coordinator.shutDown()
    await #expect(throws: DispatchError.self) { try await waiting.value }
    let other = UnixCoordinator(folder: place.folder)
    let next = asked(other, demand)
    permit.release()
    try await next.value.release()
  }
}
