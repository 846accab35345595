import Foundation
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateSharing

/// What a permit server tells programs about its holders and waiters.
@Suite struct PermitStateTests {
  private let place = SharingPlace()

  @Test("a state reads back as itself; a text for people and lines of a later server are not taken for one")
  func roundTrip() throws {
    var state = PermitState()
    (state.programs, state.held, state.waiting) = (3, 2, 1)
    var builds = PermitState.Place("builds", running: 2, waiting: 1, limit: 2)
    (builds.oldest, builds.reason) = (.milliseconds(310), "limit 2/2: 100% 名")
    state.places = [builds, PermitState.Place("key a b", running: 0, waiting: 0, limit: nil)]
    state.holders = [.init(permit: 17, place: "builds"), .init(permit: .max, place: "unix:/a b")]
    state.waiters = [.init(process: 4711, place: "builds", since: 1_764_524_000_123)]
    #expect(PermitState(lines: state.lines) == state)
    #expect(PermitState(lines: state.lines + ["news for=builds", "held x for=", ""]) == state)
    #expect(state.lines.allSatisfy { !$0.utf8.contains(10) })
    #expect(PermitState(lines: ["programs connected: 3, permits held: 2, waiting: 1"]) == nil)
    #expect(PermitState(lines: []) == nil)
  }

  @Test("a server names who holds and who waits, by process, command and time")
  func people() async throws {
    #expect(try PermitStatus.state(from: place.folder) == nil)
    let coordinator = UnixCoordinator(folder: place.folder)
    let demand = SharedDemand(
      for: try #require(EndPoint(resource: "builds")), limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
    let permit = try await coordinator.permit(for: demand)
    let other = Task { try await coordinator.permit(for: demand) }
    let deadline = Deadline.after(.seconds(60))
    var state = try #require(try PermitStatus.state(from: place.folder))
    while state.waiting == 0, deadline > .now {
      try await Task.sleep(for: .milliseconds(5))
      state = try #require(try PermitStatus.state(from: place.folder))
    }
    #expect((state.programs, state.held, state.waiting) == (1, 1, 1))
    let builds = try #require(state.places.first)
    #expect((builds.name, builds.running, builds.waiting, builds.limit) == ("builds", 1, 1, 1))
    #expect(builds.reason == "limit 1/1" && builds.oldest != nil)
    let holder = try #require(state.holdingPeople(in: place.folder).first)
    let waiter = try #require(state.waitingPeople().first)
    #expect((holder.place, waiter.place) == ("builds", "builds"))
    let (from, until) = try (#require(holder.since), #require(waiter.since))
    #expect(until - from < 120_000 && from > 1_600_000_000_000)
    #if os(Linux)
    // Server, holder and waiter are this process.
    #expect(
      holder.process == ProcessInfo.processInfo.processIdentifier
        && waiter.process == ProcessInfo.processInfo.processIdentifier)
    #expect(holder.processes == 1 && holder.command == waiter.command && holder.command?.isEmpty == false)
    #endif
    permit.release()
    try await other.value.release()
  }
}
