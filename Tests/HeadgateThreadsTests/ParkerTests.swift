import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct ParkerTests {
  @Test(
    "P08 a stored token is taken at once, even at a past deadline, and once; two tokens are one",
    arguments: [Deadline.distantFuture, .distantPast], [1, 2])
  func tokenBefore(deadline: Deadline, tokens: Int) {
    let parker = Parker()
    for _ in 0..<tokens { parker.unpark() }
    #expect(parker.park(until: deadline))
    #expect(parker.park(until: .distantPast) == false)
  }

  /// Nil stands for a deadline that is not far.
  @Test(
    "P07 a later token wakes the sleeper, also if its deadline is beyond the system's range",
    arguments: [
      nil, Deadline.distantFuture, Deadline(nanoseconds: .max - 1), Deadline(nanoseconds: 1 << 63),
      Deadline.after(.seconds(Int64.max)),
    ] as [Deadline?])
  func tokenAfter(deadline: Deadline?) throws {
    let sleeper = Parker()
    let ready = Latch()
    let awake = Latch()
    _ = try WorkerThread(name: "test-sleeper") {
      ready.countDown()
      if sleeper.park(until: deadline ?? .after(generous)) { awake.countDown() }
    }
    #expect(ready.wait())
    sleeper.unpark()
    #expect(awake.wait())
  }

  @Test(
    "P07 a deadline of zero, past or just reached returns at once without a token",
    arguments: [.distantPast, Deadline(nanoseconds: 1), .now, .after(.seconds(-1)), .after(.seconds(Int64.min))]
  )
  func past(deadline: Deadline) {
    #expect(Parker().park(until: deadline) == false)
  }

  @Test("P09 a timed park never returns early")
  func neverEarly() {
    let parker = Parker()
    for microseconds in [0, 1, 50, 999, 2000] {
      let deadline = Deadline.after(.microseconds(microseconds))
      #expect(parker.park(until: deadline) == false)
      #expect(Deadline.now >= deadline)
    }
  }

  @Test("P10 100,000 ping-pongs lose no wake-up", arguments: [nil, generous])
  func pingPong(limit: Duration?) throws {
    let ping = Parker()
    let pong = Parker()
    // Each lap has its own limit: on a busy machine all of them may take longer than a minute.
    let laps = (0..<100).map { _ in Latch(2) }
    @Sendable func isAwake(_ parker: Parker) -> Bool {
      parker.park(until: limit.map { Deadline.after($0) } ?? .distantFuture)
    }
    _ = try WorkerThread(name: "test-ping") {
      for lap in laps {
        for _ in 0..<1000 {
          pong.unpark()
          guard isAwake(ping) else { return }
        }
        lap.countDown()
      }
    }
    _ = try WorkerThread(name: "test-pong") {
      for lap in laps {
        for _ in 0..<1000 {
          guard isAwake(pong) else { return }
          ping.unpark()
        }
        lap.countDown()
      }
    }
    for lap in laps { try #require(lap.wait(), "a wake-up was lost") }
  }

  @Test("P06 a park that times out as its token arrives gets it exactly once, now or next time")
  func race() throws {
    let sleeper = Parker()
    let waker = Parker()
    let confirmed = Parker()
    let moment = Locked(Deadline.distantPast)
    let rounds = 5000
    _ = try WorkerThread(name: "test-waker") {
      for _ in 0..<rounds {
        guard waker.park(until: .after(generous)) else { return }
        let moment = moment.withLock { $0 }
        while .now < moment {}
        sleeper.unpark()
        confirmed.unpark()
      }
    }
    var random = SeededRandom(seed: 6)
    var inTime = 0
    for round in 0..<rounds {
      // The system ends a timed sleep some 60 microseconds late, so these times lie on both sides of its end.
      let deadline = Deadline.after(.microseconds(Int.random(in: 0..<100, using: &random)))
      moment.withLock { $0 = deadline + .microseconds(Int.random(in: 0..<120, using: &random)) }
      waker.unpark()
      let first = sleeper.park(until: deadline)
      try #require(confirmed.park(until: .after(generous)), "the waker is gone in round \(round)")
      let second = sleeper.park(until: .distantPast)
      #expect(first != second, "round \(round)")
      inTime += first ? 1 : 0
    }
    print("timed parks that got the token in time: \(inTime) of \(rounds)")
  }

  @Test("P12 a storm of signals neither ends a park early nor loses its token")
  func signals() throws {
    SignalStorm.install()
    let sleeper = Parker()
    let here = Parker()
    let isOver = Parker()
    let parked = Locked<pthread_t?>(nil)
    let stops = Record<Bool>()
    _ = try WorkerThread(name: "test-sleeper") {
      let thread = SignalStorm.expose()
      parked.withLock { $0 = thread }
      here.unpark()
      let deadline = Deadline.after(.milliseconds(30))
      stops.add(sleeper.park(until: deadline))
      stops.add(Deadline.now < deadline)
      here.unpark()
      stops.add(sleeper.park())
      here.unpark()
      _ = isOver.park()
    }
    #expect(here.park(until: .after(generous)))
    let thread = try #require(parked.withLock { $0 })
    let limit = Deadline.after(generous)
    // The storm continues until the sleeper reports that its deadline has passed.
    while !here.park(until: .distantPast), .now < limit { SignalStorm.strike(thread) }
    for _ in 0..<1000 { SignalStorm.strike(thread) }
    sleeper.unpark()
    #expect(here.park(until: .after(generous)))
    #expect(stops.events == [false, false, true])
    isOver.unpark()
  }
}
