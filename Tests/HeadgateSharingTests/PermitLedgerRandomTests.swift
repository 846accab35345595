import Testing

@testable import HeadgateSharing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// The permit server's ledger among programs that die at any point, and servers that are replaced.
@Suite struct PermitLedgerRandomTests {
  /// 8,000 events unless the environment asks for more, as `make soak` does.
  private static let events = getenv("HEADGATE_SOAK_EVENTS").flatMap { Int(String(cString: $0)) } ?? 8_000
  private static let round = 400

  private func play(_ seed: UInt64, _ fault: LedgerWorld.Fault?) throws -> LedgerWorld {
    var world = try LedgerWorld(seed: seed, fault)
    for _ in 0..<Self.round where world.violations.isEmpty { try world.step() }
    if world.violations.isEmpty { try world.finish() }
    return world
  }

  @Test("random events: never more permits in use than the limit, none is lost, and the strictest limits apply")
  func randomEvents() throws {
    var seed = getenv("HEADGATE_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1
    var seen: Set<String> = []
    for _ in 0..<max(1, Self.events / Self.round) {
      let world = try play(seed, nil)
      try #require(world.violations == [], "seed \(seed)")
      seen.formUnion(world.seen)
      seed &+= 1
    }
    let common: Set = ["replaced", "inherited", "died", "unwanted", "without a word", "died before it took", "paused"]
    #expect(seen.isSuperset(of: common))
    if Self.events >= 100_000 { #expect(seen.isSuperset(of: ["taken again", "too late"])) }
  }

  @Test("a planted fault is found", arguments: LedgerWorld.Fault.allCases)
  func planted(fault: LedgerWorld.Fault) throws {
    let found = try (UInt64(1)...400).contains { try !play($0, fault).violations.isEmpty }
    #expect(found)
  }
}
