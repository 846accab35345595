import Foundation
import Testing

/// The protocol of leases between machines: programs that crash, pause and are cut off, packets that are late or lost, a
/// server that restarts, loses its data, stalls, and whose clock jumps.
@Suite struct LeaseModelTests {
  private static let seeds = ProcessInfo.processInfo.environment["HEADGATE_LEASE_SEEDS"].flatMap { UInt64($0) } ?? 40

  @Test("never more permits are believed valid than the limit, and permits are granted again after all faults")
  func safe() {
    for seed in 0..<Self.seeds {
      var world = LeaseWorld(seed: seed)
      if let violation = world.run(milliseconds: 60_000) {
        Issue.record("seed \(seed): \(violation)")
        return
      }
      #expect(world.grants > 10, "seed \(seed): \(world.grants)")
      let recovers = world.recovers()
      #expect(recovers, "seed \(seed)")
    }
  }

  @Test(
    "faults that are planted are found",
    arguments: [
      LeaseServer.Faults.epochInSeconds, .endsLearningEarly, .acceptsOldTicks, .acceptsOldAttaches, .believesClock,
      .learnsNothing,
    ])
  func planted(faults: LeaseServer.Faults) {
    let isFound = (0..<UInt64(200)).contains { seed in
      var world = LeaseWorld(seed: seed, faults: faults)
      return world.run(milliseconds: 60_000) != nil
    }
    #expect(isFound)
  }
}
