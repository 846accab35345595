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
    let totals = try Self.play(lends: false)
    // A script that starts nothing would prove nothing.
    #expect(totals.started > Self.events / 10)
    print("random events: \(Self.events), requests started: \(totals.started)")
  }

  @Test("D13 the same with permits on loan, which come and go")
  func randomEventsOnLoan() throws {
    let totals = try Self.play(lends: true)
    #expect(totals.onLoan > Self.events / 50 && totals.calledIn > Self.events / 1000)
    print(
      "random events: \(Self.events), started on loan: \(totals.onLoan), called in while they ran: \(totals.calledIn)")
  }

  /// Plays all events, with one seed after another.
  private static func play(lends: Bool) throws -> (started: Int, onLoan: Int, calledIn: Int) {
    var seed = getenv("HEADGATE_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1
    var played = 0
    var totals = (started: 0, onLoan: 0, calledIn: 0)
    while played < events {
      var exerciser = try SchedulerExerciser(seed: seed, lends: lends)
      let count = min(20_000, events - played)
      let broken = exerciser.play(count)
      // What was broken is said, and nothing is played after it.
      try #require(broken == nil)
      played += count
      totals.started += exerciser.started
      totals.onLoan += exerciser.onLoan
      totals.calledIn += exerciser.calledIn
      seed &+= 1
    }
    return totals
  }
}
