import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

/// The sums of waiting time by cause, as values.
@Suite struct WaitClockTests {
  private func moment(_ seconds: UInt64) -> Deadline { Deadline(nanoseconds: seconds * 1_000_000_000) }

  @Test("a request that reads the clock when it comes and when it goes knows its causes")
  func differences() {
    var clock = WaitClock()
    clock.turn(to: .limit, at: moment(10))
    let came = clock.read(at: moment(12))
    clock.turn(to: .rate, at: moment(15))
    clock.turn(to: .rate, at: moment(16))
    clock.turn(to: .limit, at: moment(20))
    let waited = WaitTimes(clock.read(at: moment(21)) - came)
    #expect(waited[.limit] == .seconds(4) && waited[.rate] == .seconds(5) && waited.total == .seconds(9))
    #expect(waited.all.map(\.kind) == [.rate, .limit])
    #expect(waited.description == "rate 5.0 s, limit 4.0 s")
  }

  @Test("a cause with a known end gives way to the next one without an event")
  func ends() {
    var clock = WaitClock()
    clock.turn(to: .paused, until: moment(30), then: .limit, at: moment(10))
    let came = clock.read(at: moment(10))
    #expect(WaitTimes(clock.read(at: moment(25)) - came)[.paused] == .seconds(15))
    let late = WaitTimes(clock.read(at: moment(34)) - came)
    #expect(late[.paused] == .seconds(20) && late[.limit] == .seconds(4))
    clock.turn(to: .rate, at: moment(40))
    #expect(WaitTimes(clock.read(at: moment(41)) - came).total == .seconds(31))
  }

  @Test("meters keep what was waited before, at any number of places")
  func meters() {
    var random = SeededRandom(seed: 5)
    var clocks = [WaitClock(), WaitClock(), WaitClock()]
    var (line, request) = (WaitMeter(), WaitMeter())
    var (place, now) = (0, UInt64(100))
    line.turn(under: clocks[place].read(at: moment(now)))
    request.turn(under: line.read(under: clocks[place].read(at: moment(now))))
    for _ in 0..<2_000 {
      now += .random(in: 0...3, using: &random)
      let cause = WaitReason.Kind.Word.allCases.randomElement(using: &random) ?? .turn
      if Bool.random(using: &random) {
        let until = Bool.random(using: &random) ? moment(now + .random(in: 0...3, using: &random)) : .distantFuture
        clocks[.random(in: 0..<3, using: &random)].turn(to: cause, until: until, then: .rate, at: moment(now))
      } else {
        line.turn(under: clocks[place].read(at: moment(now)))
        place = .random(in: 0..<3, using: &random)
        line.turn(under: clocks[place].read(at: moment(now)))
      }
      let waited = WaitTimes(request.read(under: line.read(under: clocks[place].read(at: moment(now)))))
      #expect(waited.total == Duration.seconds(now - 100))
    }
  }

  @Test("times without a wait are empty, and adding keeps each cause")
  func times() {
    var times = WaitTimes()
    times.add(0, to: .limit)
    #expect(times.isEmpty && times == WaitTimes() && times.description == "none" && times.all.isEmpty)
    times.add(1_000_000_000, to: .limit)
    times.add(500_000_000, to: .limit)
    var others = WaitTimes()
    others.add(2_000_000_000, to: .memory)
    times += others
    #expect(times.all.map(\.duration) == [.seconds(2), .milliseconds(1500)] && times[.rate] == .zero)
  }

  @Test("each kind has its own word")
  func words() {
    let words = WaitReason.Kind.Word.allCases.map { WaitReason.Kind($0).description }
    #expect(Set(words).count == words.count && words.count <= 16)
  }
}
