import HeadgateDispatch
import HeadgateTesting
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

@Suite struct SchedulerRandomTests {
  /// 200,000 events unless the environment asks for more, as `make soak` does.
  private static let events = getenv("HEADGATE_SOAK_EVENTS").flatMap { Int(String(cString: $0)) } ?? 200_000

  @Test("D13 random events break no rule, and at the end nothing runs, waits or is remembered")
  func randomEvents() throws {
    let seed = getenv("HEADGATE_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1
    var played = 0
    var started = 0
    var round = UInt64(0)
    while played < Self.events {
      var exerciser = try SchedulerExerciser(seed: seed &+ round)
      let count = min(20_000, Self.events - played)
      let broken = exerciser.play(count)
      #expect(broken == nil)
      if broken != nil { return }
      played += count
      started += exerciser.started
      round += 1
    }
    // A script that starts nothing would prove nothing.
    #expect(started > Self.events / 10)
    print("random events: \(played), requests started: \(started)")
  }

  @Test("D13 the same with permits on loan, which come and go")
  func randomEventsOnLoan() throws {
    let seed = getenv("HEADGATE_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1
    var (played, onLoan, calledIn) = (0, 0, 0)
    var round = UInt64(0)
    while played < Self.events {
      var exerciser = try SchedulerExerciser(seed: seed &+ round, lends: true)
      let count = min(20_000, Self.events - played)
      let broken = exerciser.play(count)
      #expect(broken == nil)
      if broken != nil { return }
      played += count
      onLoan += exerciser.onLoan
      calledIn += exerciser.calledIn
      round += 1
    }
    #expect(onLoan > Self.events / 50 && calledIn > Self.events / 1000)
    print("random events: \(played), started on loan: \(onLoan), called in while they ran: \(calledIn)")
  }
}
