import HeadgateThreads
import Testing

/// The calls of the `perform` family on a manual clock, without threads and time.
@Suite struct TimerCallsTests {
  @Test("P71 a single call: a cancellation before it returns true and tells, after it false")
  func once() throws {
    let bench = TimerCallsBench()
    let first = try bench.start(after: 10) {
      bench.log.add("first")
    } onDrop: {
      bench.log.add("first cancelled")
    }
    let second = try bench.start(after: 20) {
      bench.log.add("second")
    } onDrop: {
      bench.log.add("second cancelled")
    }
    #expect(bench.calls.count == 2)
    bench.advance(10)
    #expect(bench.log.events == ["first"])
    #expect(first.cancel() == false)
    #expect(first.isActive == false && first.isCancelled == false)
    #expect(second.isActive)
    #expect(second.cancel())
    #expect(second.cancel() == false)
    #expect(second.isCancelled)
    bench.advance(100)
    #expect(bench.log.events == ["first", "second cancelled"])
    #expect(bench.calls.count == 0)
    #expect(bench.clock.pendingCount == 0)
  }

  @Test("P71 a cancellation inside the call: false for a single call, true for the next ones of a repeating timer")
  func cancelFromInside() throws {
    let bench = TimerCallsBench()
    let own = Locked<TimerHandle?>(nil)
    for repetition in [nil, TimerRepetition.rate(.nanoseconds(10))] {
      let handle = try bench.start(after: 10, repetition: repetition) {
        bench.log.add("cancel says \(String(describing: own.withLock { $0 }?.cancel()))")
      } onDrop: {
        bench.log.add("cancelled")
      }
      own.withLock { $0 = handle }
      bench.advance(100)
    }
    #expect(bench.log.events == ["cancel says Optional(false)", "cancelled", "cancel says Optional(true)"])
    #expect(bench.calls.count == 0)
    #expect(bench.clock.pendingCount == 0)
  }

  @Test("P71 a reschedule moves a pending call, later or earlier, without a second one")
  func reschedule() throws {
    let bench = TimerCallsBench()
    let moments = Record<Int>()
    let handle = try bench.start(after: 10) { moments.add(bench.clock.reading) }
    #expect(handle.reschedule(after: .nanoseconds(50)))
    #expect(bench.clock.pendingCount == 1)
    bench.advance(20)
    #expect(moments.events == [])
    #expect(handle.reschedule(after: .nanoseconds(5)))
    bench.advance(100)
    #expect(moments.events == [25])
    #expect(handle.reschedule(after: .nanoseconds(5)) == false)
    bench.advance(100)
    #expect(moments.events == [25])
  }

  @Test("P71 a reschedule inside the call sets the next one, which a cancellation removes")
  func rescheduleFromInside() throws {
    let bench = TimerCallsBench()
    let moments = Record<Int>()
    let own = Locked<TimerHandle?>(nil)
    let handle = try bench.start(after: 10) {
      moments.add(bench.clock.reading)
      #expect(own.withLock { $0 }?.reschedule(after: .nanoseconds(7)) == true)
    }
    own.withLock { $0 = handle }
    bench.advance(30)
    #expect(moments.events == [10, 17, 24])
    #expect(handle.cancel())
    bench.advance(100)
    #expect(moments.events == [10, 17, 24])
    own.withLock { $0 = nil }
  }

  @Test("P71 a reschedule of a rate restarts it from there")
  func rescheduleRate() throws {
    let bench = TimerCallsBench()
    let moments = Record<Int>()
    let handle = try bench.start(after: 10, repetition: .rate(.nanoseconds(10))) {
      moments.add(bench.clock.reading)
    }
    bench.advance(25)
    #expect(handle.reschedule(after: .nanoseconds(2)))
    bench.advance(15)
    #expect(moments.events == [10, 20, 27, 37])
    handle.cancel()
  }

  @Test("P71 a cancellation between the delivery to a target and the start wins: the body never runs")
  func cancelHandedOver() throws {
    let bench = TimerCallsBench()
    let shelf = Shelf()
    let census = Census()
    func start() throws -> TimerHandle {
      let token = census.token()
      return try bench.start(after: 10, place: shelf.target) {
        token.hold()
        bench.log.add("called")
      } onDrop: {
        bench.log.add("cancelled")
      }
    }
    let handle = try start()
    bench.advance(10)
    #expect(handle.cancel())
    // Though the target still holds its closure.
    #expect(census.alive == 0)
    for call in shelf.take() { call() }
    #expect(bench.log.events == ["cancelled"])

    let other = try start()
    bench.advance(10)
    for call in shelf.take() { call() }
    #expect(other.cancel() == false)
    #expect(bench.log.events == ["cancelled", "called"])
    // Neither closure had anything to report when it was released just now.
    #expect(bench.clock.pendingCount == 0)
    bench.advance(100)
    #expect(bench.errors.events == [])
    #expect(census.alive == 0)
  }

  @Test("P71 a reschedule between the delivery and the start withdraws the call")
  func rescheduleHandedOver() throws {
    let bench = TimerCallsBench()
    let shelf = Shelf()
    let handle = try bench.start(after: 10, place: shelf.target) { bench.log.add("called") }
    bench.advance(10)
    #expect(handle.reschedule(after: .nanoseconds(10)))
    let stale = shelf.take()
    for call in stale { call() }
    #expect(bench.log.events == [])
    bench.advance(10)
    // The closure of the first delivery does nothing, even after a second one.
    for call in stale { call() }
    #expect(bench.log.events == [])
    for call in shelf.take() { call() }
    #expect(bench.log.events == ["called"])
  }

  @Test("A target that throws or drops the call: reported, a single call ends by onDrop, a repeating one continues")
  func refusals() throws {
    let bench = TimerCallsBench()
    let shelf = Shelf()
    shelf.isClosed.withLock { $0 = true }
    _ = try bench.start(after: 10, place: shelf.target) {
      bench.log.add("called")
    } onDrop: {
      bench.log.add("refused")
    }
    let repeating = try bench.start(after: 11, place: shelf.target, repetition: .rate(.nanoseconds(10))) {
      bench.log.add("again")
    }
    bench.advance(12)
    #expect(bench.log.events == ["refused"])
    #expect(bench.errors.events == ["TimerCallFailure", "TimerCallFailure"])
    shelf.isClosed.withLock { $0 = false }
    _ = try bench.start(after: 1, place: shelf.target) {
      bench.log.add("called")
    } onDrop: {
      bench.log.add("dropped")
    }
    bench.advance(1)
    _ = shelf.take()
    bench.advance(0)
    #expect(bench.log.events == ["refused", "dropped"])
    #expect(bench.errors.events == ["TimerCallFailure", "TimerCallFailure", "TimerError"])
    bench.advance(8)
    _ = shelf.take()
    bench.advance(10)
    for call in shelf.take() { call() }
    #expect(bench.log.events == ["refused", "dropped", "again"])
    #expect(repeating.cancel())
    #expect(bench.calls.count == 0)
  }

  @Test("P75 an error is reported, and a repeating timer continues")
  func errors() throws {
    let bench = TimerCallsBench()
    let moments = Record<Int>()
    let handle = try bench.start(after: 10, repetition: .rate(.nanoseconds(10))) {
      moments.add(bench.clock.reading)
      throw TimerCallFailure()
    }
    bench.advance(35)
    #expect(moments.events == [10, 20, 30])
    #expect(bench.errors.events == ["TimerCallFailure", "TimerCallFailure", "TimerCallFailure"])
    #expect(handle.cancel())
    _ = try bench.start(after: 1) { throw TimerCallFailure() }
    bench.advance(1)
    #expect(bench.errors.events.count == 4)
    #expect(bench.calls.count == 0)
  }

  @Test("P76 a slow call: skip omits times and keeps the beat, burst makes them up, delay waits after each end")
  func missedTicks() throws {
    func moments(_ repetition: TimerRepetition) throws -> (moments: [Int], missed: Int) {
      let bench = TimerCallsBench()
      let moments = Record<Int>()
      let handle = try bench.start(after: 10, repetition: repetition) {
        moments.add(bench.clock.reading)
        // The second call takes three and a half intervals.
        if moments.events.count == 2 { bench.clock.pass(.nanoseconds(35)) }
      }
      bench.advance(80)
      return (moments.events, handle.missedCount)
    }
    #expect(try moments(.rate(.nanoseconds(10))) == ([10, 20, 60, 70, 80], 3))
    #expect(try moments(.rate(.nanoseconds(10), missed: .burst)) == ([10, 20, 55, 55, 55, 60, 70, 80], 0))
    #expect(try moments(.delay(.nanoseconds(10))) == ([10, 20, 65, 75], 0))
    // A call that ends exactly on a beat misses none that it could have met.
    let exact = TimerCallsBench()
    let beats = Record<Int>()
    _ = try exact.start(after: 10, repetition: .rate(.nanoseconds(10))) {
      beats.add(exact.clock.reading)
      exact.clock.pass(.nanoseconds(20))
    }
    exact.advance(55)
    #expect(beats.events == [10, 30, 50])
  }

  @Test("P76 while a burst catches up, others wait only behind the times before theirs")
  func burstIsFair() throws {
    let bench = TimerCallsBench()
    let isFirst = Locked(true)
    _ = try bench.start(after: 10, repetition: .rate(.nanoseconds(10), missed: .burst)) {
      bench.log.add("tick")
      let wasFirst = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      if wasFirst { bench.clock.pass(.nanoseconds(35)) }
    }
    _ = try bench.start(after: 25) { bench.log.add("other") }
    bench.advance(45)
    #expect(bench.log.events == ["tick", "tick", "other", "tick", "tick"])
  }

  @Test("P73 zero and negative intervals throw, and the longest ones end in never")
  func intervals() throws {
    let bench = TimerCallsBench()
    for interval in [Duration.zero, .seconds(-1)] {
      for repetition in [TimerRepetition.rate(interval), .delay(interval)] {
        #expect(throws: TimerError(.invalidInterval, timers: "bench")) {
          _ = try bench.start(after: 0, repetition: repetition) {}
        }
      }
    }
    #expect(bench.calls.count == 0)
    let longest = Duration.seconds(Int64.max)
    for repetition in [TimerRepetition.rate(longest), .rate(longest, missed: .burst), .delay(longest)] {
      let bench = TimerCallsBench()
      let handle = try bench.start(after: 0, repetition: repetition) {
        bench.log.add("called")
        bench.clock.pass(longest)
      }
      bench.advance(0)
      #expect(bench.log.events.count == 1)
      #expect(handle.isActive)
      handle.cancel()
    }
  }
}
