import HeadgateGate
import HeadgateTesting
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

@Suite struct SchedulerRandomTests {
  /// 80,000 events unless the environment asks for more, as `make soak` does.
  private static let events = getenv("HEADGATE_SOAK_EVENTS").flatMap { Int(String(cString: $0)) } ?? 80_000

  @Test("D13 random events break no rule, and at the end nothing runs, waits or is remembered")
  func randomEvents() throws {
    var seed = getenv("HEADGATE_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1
    var (played, started) = (0, 0)
    while played < Self.events {
      var exerciser = try SchedulerExerciser(seed: seed)
      let count = min(20_000, Self.events - played)
      let broken = exerciser.play(count)
      // The broken rule is reported, and nothing more is played.
      try #require(broken == nil)
      played += count
      started += exerciser.started
      seed &+= 1
    }
    // A script that starts nothing would prove nothing.
    #expect(started > Self.events / 10)
    print("random events: \(Self.events), requests started: \(started)")
  }
}
