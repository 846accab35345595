import HeadgateThreads
import Testing

/// The code of docs/migrating.md for LSTimerThread.
@Suite struct MigratingTimerTests {
  private final class Clock: Sendable {
    let strokes = Record<String>()
    private let struck: Latch

    init(_ struck: Latch = Latch()) { self.struck = struck }

    func strike(_ hour: String = "") {
      strokes.add(hour)
      struck.countDown()
    }
  }

  /// Replaces selector and argument.
  struct Call: Hashable, Sendable {
    var name: String
    var argument = ""
  }

  @Test("LSTimerThread: a call after a delay, of a closure, of a method, with an argument")
  func perform() async throws {
    let struck = Latch(3)
    let clock = Clock(struck)
    let timers = TimerThread.shared
    try timers.perform(after: .milliseconds(2)) { clock.strike() }
    try timers.perform(after: .milliseconds(2), owner: clock, key: "strike") { clock.strike() }
    let call = Call(name: "strike", argument: "noon")
    try timers.perform(after: .milliseconds(2), owner: clock, key: call) { clock.strike("noon") }
    try await onThread { try #require(struck.wait()) }
    #expect(clock.strokes.events.sorted() == ["", "", "noon"])
  }

  @Test("LSTimerThread: calls are cancelled by target, by selector, by selector and argument")
  func cancel() throws {
    let (clock, other) = (Clock(), Clock())
    let timers = TimerThread(name: "clocks")
    for clock in [clock, other] {
      try timers.perform(after: .seconds(60), owner: clock, key: "strike") { clock.strike() }
      for hour in ["noon", "noon", "midnight"] {
        try timers.perform(after: .seconds(60), owner: clock, key: Call(name: "strike", argument: hour)) {
          clock.strike(hour)
        }
      }
    }
    let call = Call(name: "strike", argument: "noon")
    #expect(timers.cancelAll(owner: clock, key: call) == 2)
    #expect(timers.cancelAll(owner: clock, key: "strike") == 1)
    #expect(timers.cancelAll(owner: clock) == 1)
    #expect(timers.pendingCount == 4)

    let timer = try timers.perform(after: .seconds(60)) { clock.strike() }
    #expect(timer.cancel())
    #expect(!timer.isActive)
    timers.dispose()
    #expect(timers.pendingCount == 0)
    let late = #expect(throws: TimerError.self) { try timers.perform(after: .zero) { clock.strike() } }
    #expect(late?.code == .disposed)
    #expect(clock.strokes.events.isEmpty)
    #expect(other.strokes.events.isEmpty)
  }

  @Test("LSTimerThread: repeated calls, and sleeps of a task")
  func beyond() async throws {
    let struck = Latch(3)
    let clock = Clock(struck)
    let timers = TimerThread(name: "clocks")
    let beat = try timers.perform(repeating: .rate(.milliseconds(1))) { clock.strike() }
    try await onThread { try #require(struck.wait()) }
    beat.cancel()
    let start = timers.now
    try await timers.sleep(for: .milliseconds(2))
    #expect(timers.now - start >= .milliseconds(2))
    timers.dispose()
  }
}
