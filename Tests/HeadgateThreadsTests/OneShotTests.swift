import HeadgateThreads
import Testing

@Suite struct OneShotTests {
  @Test("the first value counts, for earlier and later waiters")
  func first() async throws {
    let shot = OneShot<Int>()
    let told = Record<Int>()
    shot.whenSet { told.add($0) }
    #expect(shot.value == nil)
    let blocked = try Blocked { shot.wait() }
    async let suspended = shot.wait()
    #expect(shot.set(1))
    #expect(!shot.set(2))
    shot.whenSet { told.add($0 + 10) }
    #expect(try blocked.result() == 1)
    #expect(await suspended == 1)
    #expect(await shot.wait() == 1)
    #expect(told.events == [1, 11])
  }

  @Test("of many threads that set a value one succeeds, and all waiters get that one")
  func race() throws {
    for _ in 0..<200 {
      let shot = OneShot<Int>()
      let got = Record<Int>()
      let won = Record<Int>()
      try onThreads(4) { number in
        if number < 2 {
          if shot.set(number) { won.add(number) }
        } else {
          got.add(shot.wait())
        }
      }
      #expect(won.events.count == 1)
      #expect(got.events == won.events + won.events)
    }
  }

  @Test("a wait with a deadline gives up, and a cancelled thread or task continues to wait")
  func ends() async throws {
    let shot = OneShot<Int>()
    let looked = try Blocked { shot.wait(until: .distantPast) }
    #expect(try looked.result() == nil)
    let thread = try Blocked { shot.wait() }
    let task = Task { await shot.wait() }
    thread.cancel()
    task.cancel()
    shot.set(7)
    #expect(try thread.result() == 7)
    #expect(await task.value == 7)
  }
}
