import Testing

@testable import HeadgateGate

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

@Suite struct LimiterRandomTests {
  /// 8,000 events unless the environment asks for more, as `make soak` does.
  private static let events = getenv("HEADGATE_SOAK_EVENTS").flatMap { Int(String(cString: $0)) } ?? 8_000

  @Test(
    "random events of all limits: starts are allowed, none is missing, and each wait has the reason of the model")
  func randomEvents() throws {
    var seed = getenv("HEADGATE_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1
    var played = 0
    var tallies: [LimiterExerciser.Tally] = []
    while played < Self.events {
      var exerciser = try LimiterExerciser(seed: seed)
      let count = min(1_000, Self.events - played)
      let broken = try exerciser.play(count)
      // The broken rule is reported, and nothing more is played.
      try #require(broken == nil)
      played += count
      tallies.append(exerciser.tally)
      seed &+= 1
    }
    func sum(_ part: (LimiterExerciser.Tally) -> Int) -> Int { tallies.map(part).reduce(0, +) }
    // A script that starts nothing would prove nothing.
    #expect(sum(\.started) > Self.events / 10 && sum(\.declined) > Self.events / 1000)
    let common = [sum(\.paused), sum(\.quotas), sum(\.overflows), sum(\.shed)]
    #expect(!common.contains(0))
    // Some events are rare.
    if Self.events >= 100_000 { #expect(sum(\.givenUp) > 0 && sum(\.forgotten) > 0) }
    print(
      "limits: \(Self.events) random events, \(sum(\.started)) starts, \(sum(\.declined)) declined, "
        + "\(sum(\.givenUp)) given up, \(sum(\.forgotten)) forgotten")
  }
}
