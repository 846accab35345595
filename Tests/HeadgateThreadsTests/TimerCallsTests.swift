import HeadgateThreads
import Testing

/// The calls of the `perform` family on a manual clock, without threads and time.
@Suite struct TimerCallsTests {
  struct Failure: Error, Equatable {}

  /// A clock, its calls, and the reports.
  private final class Bench: Sendable {
    let clock = StillClock()
    let calls: TimerCalls
    let errors = Record<String>()
    let log = Record<String>()

    init(limit: Int? = nil) {
      let errors = errors
      calls = TimerCalls(name: "bench", limit: limit) { error, _ in errors.add("\(type(of: error))") }
    }

    func start(
      after nanoseconds: Int, _ options: TimerCalls.Options = .init(), _ body: @escaping @Sendable () throws -> Void,
      onCancel: (@Sendable () -> Void)? = nil
    ) throws -> TimerHandle {
      try calls.start(on: clock, at: clock.now + .nanoseconds(nanoseconds), options, body, onCancel: onCancel)
    }

    func advance(_ nanoseconds: Int) { clock.advance(by: .nanoseconds(nanoseconds)) }
  }

  /// A target that keeps its calls until the test makes or drops them.
  private final class Shelf: Sendable {
    let calls = Locked<[TimerQueue.Action]>([])
    let isClosed = Locked(false)

    var target: Delivery {
      .submitting { [self] call in
        if isClosed.withLock({ $0 }) { throw Failure() }
        calls.withLock { $0.append(TimerQueue.Action(call)) }
      }
    }

    func take() -> [TimerQueue.Action] {
      calls.withLock { calls in
        defer { calls = [] }
        return calls
      }
    }
  }

  @Test("P71 a single call: a cancellation before it returns true and tells, after it false")
  func once() throws {
    let bench = Bench()
    let first = try bench.start(after: 10) {
      bench.log.add("first")
    } onCancel: {
      bench.log.add("first cancelled")
    }
    let second = try bench.start(after: 20) {
      bench.log.add("second")
    } onCancel: {
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
    let bench = Bench()
    let own = Locked<TimerHandle?>(nil)
    for repetition in [nil, TimerRepetition.rate(.nanoseconds(10))] {
      let handle = try bench.start(after: 10, .init(repetition: repetition)) {
        bench.log.add("cancel says \(String(describing: own.withLock { $0 }?.cancel()))")
      } onCancel: {
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
    let bench = Bench()
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
    let bench = Bench()
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
    let bench = Bench()
    let moments = Record<Int>()
    let handle = try bench.start(after: 10, .init(repetition: .rate(.nanoseconds(10)))) {
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
    let bench = Bench()
    let shelf = Shelf()
    let census = Census()
    func start() throws -> TimerHandle {
      let token = census.token()
      return try bench.start(after: 10, .init(place: shelf.target)) {
        token.hold()
        bench.log.add("called")
      } onCancel: {
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
    let bench = Bench()
    let shelf = Shelf()
    let handle = try bench.start(after: 10, .init(place: shelf.target)) { bench.log.add("called") }
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

  @Test("A target that throws or drops the call: reported, a single call ends by onCancel, a repeating one continues")
  func refusals() throws {
    let bench = Bench()
    let shelf = Shelf()
    shelf.isClosed.withLock { $0 = true }
    _ = try bench.start(after: 10, .init(place: shelf.target)) {
      bench.log.add("called")
    } onCancel: {
      bench.log.add("refused")
    }
    let repeating = try bench.start(after: 11, .init(place: shelf.target, repetition: .rate(.nanoseconds(10)))) {
      bench.log.add("again")
    }
    bench.advance(12)
    #expect(bench.log.events == ["refused"])
    #expect(bench.errors.events == ["Failure", "Failure"])
    shelf.isClosed.withLock { $0 = false }
    _ = try bench.start(after: 1, .init(place: shelf.target)) {
      bench.log.add("called")
    } onCancel: {
      bench.log.add("dropped")
    }
    bench.advance(1)
    _ = shelf.take()
    bench.advance(0)
    #expect(bench.log.events == ["refused", "dropped"])
    #expect(bench.errors.events == ["Failure", "Failure", "TimerError"])
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
    let bench = Bench()
    let moments = Record<Int>()
    let handle = try bench.start(after: 10, .init(repetition: .rate(.nanoseconds(10)))) {
      moments.add(bench.clock.reading)
      throw Failure()
    }
    bench.advance(35)
    #expect(moments.events == [10, 20, 30])
    #expect(bench.errors.events == ["Failure", "Failure", "Failure"])
    #expect(handle.cancel())
    _ = try bench.start(after: 1) { throw Failure() }
    bench.advance(1)
    #expect(bench.errors.events.count == 4)
    #expect(bench.calls.count == 0)
  }

  @Test("P76 a slow call: skip omits times and keeps the beat, burst makes them up, delay waits after each end")
  func missedTicks() throws {
    func moments(_ repetition: TimerRepetition) throws -> (moments: [Int], missed: Int) {
      let bench = Bench()
      let moments = Record<Int>()
      let handle = try bench.start(after: 10, .init(repetition: repetition)) {
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
    let exact = Bench()
    let beats = Record<Int>()
    _ = try exact.start(after: 10, .init(repetition: .rate(.nanoseconds(10)))) {
      beats.add(exact.clock.reading)
      exact.clock.pass(.nanoseconds(20))
    }
    exact.advance(55)
    #expect(beats.events == [10, 30, 50])
  }

  @Test("P76 while a burst catches up, others wait only behind the times before theirs")
  func burstIsFair() throws {
    let bench = Bench()
    let isFirst = Locked(true)
    _ = try bench.start(after: 10, .init(repetition: .rate(.nanoseconds(10), missed: .burst))) {
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
    let bench = Bench()
    for interval in [Duration.zero, .seconds(-1)] {
      for repetition in [TimerRepetition.rate(interval), .delay(interval)] {
        #expect(throws: TimerError(.invalidInterval, timers: "bench")) {
          _ = try bench.start(after: 0, .init(repetition: repetition)) {}
        }
      }
    }
    #expect(bench.calls.count == 0)
    let longest = Duration.seconds(Int64.max)
    for repetition in [TimerRepetition.rate(longest), .rate(longest, missed: .burst), .delay(longest)] {
      let bench = Bench()
      let handle = try bench.start(after: 0, .init(repetition: repetition)) {
        bench.log.add("called")
        bench.clock.pass(longest)
      }
      bench.advance(0)
      #expect(bench.log.events.count == 1)
      #expect(handle.isActive)
      handle.cancel()
    }
  }

  @Test("Calls are cancelled by owner, and by owner and key, and others stay")
  func owners() throws {
    final class Owner {}
    struct Selector: Hashable { var name: String, argument: Int }
    let bench = Bench()
    let (one, two) = (Owner(), Owner())
    func start(_ owner: Owner, _ key: (any Hashable & Sendable)?, _ name: String) throws {
      _ = try bench.start(after: 10, .init(ownership: TimerOwnership(owner, key: key))) { bench.log.add(name) }
    }
    try start(one, Selector(name: "load", argument: 1), "one load 1")
    try start(one, Selector(name: "load", argument: 1), "one load 1 again")
    try start(one, Selector(name: "load", argument: 2), "one load 2")
    try start(one, nil, "one without key")
    try start(two, Selector(name: "load", argument: 1), "two load 1")
    #expect(bench.calls.cancelAll(owner: ObjectIdentifier(one), key: Selector(name: "load", argument: 1)) == 2)
    #expect(bench.calls.cancelAll(owner: ObjectIdentifier(one), key: Selector(name: "load", argument: 1)) == 0)
    #expect(bench.calls.count == 3)
    #expect(bench.calls.cancelAll(owner: ObjectIdentifier(one)) == 2)
    bench.advance(10)
    #expect(bench.log.events == ["two load 1"])
    #expect(bench.calls.cancelAll(owner: ObjectIdentifier(two)) == 0)
  }

  @Test("Keys with equal hashes are distinguished, and their comparison may use the timers")
  func collidingKeys() throws {
    final class Owner {}
    struct Key: Hashable {
      let number: Int
      let bench: TimerCalls
      static func == (left: Key, right: Key) -> Bool {
        // Under the lock of the calls this would never return.
        _ = left.bench.count
        return left.number == right.number
      }
      func hash(into hasher: inout Hasher) {
        _ = bench.count
        hasher.combine(1)
      }
    }
    let bench = Bench()
    let owner = Owner()
    for number in 0..<3 {
      let key = Key(number: number, bench: bench.calls)
      _ = try bench.start(after: 10, .init(ownership: TimerOwnership(owner, key: key))) { bench.log.add("\(number)") }
    }
    #expect(bench.calls.cancelAll(owner: ObjectIdentifier(owner), key: Key(number: 1, bench: bench.calls)) == 1)
    bench.advance(10)
    #expect(bench.log.events == ["0", "2"])
  }

  @Test("An owner is not kept alive, and may cancel its calls when it ends")
  func ownerEnds() throws {
    final class Owner {
      let bench: TimerCalls
      init(_ bench: TimerCalls) { self.bench = bench }
      deinit { _ = bench.cancelAll(owner: ObjectIdentifier(self)) }
    }
    let bench = Bench()
    do {
      let owner = Owner(bench.calls)
      _ = try bench.start(after: 10, .init(ownership: TimerOwnership(owner, key: "a"))) { bench.log.add("called") }
      #expect(bench.calls.count == 1)
    }
    #expect(bench.calls.count == 0)
    bench.advance(10)
    #expect(bench.log.events == [])
  }

  @Test("At the limit a call throws, and succeeds again when one has ended")
  func limit() throws {
    let bench = Bench(limit: 2)
    let first = try bench.start(after: 10) {}
    _ = try bench.start(after: 20, .init(repetition: .rate(.nanoseconds(10)))) {}
    #expect(throws: TimerError(.full, timers: "bench")) { _ = try bench.start(after: 10) {} }
    #expect(bench.calls.count == 2)
    #expect(bench.clock.pendingCount == 2)
    first.cancel()
    _ = try bench.start(after: 10) {}
    bench.advance(10)
    _ = try bench.start(after: 10) {}
    #expect(throws: TimerError(.full, timers: "bench")) { _ = try bench.start(after: 10) {} }
    #expect(bench.calls.cancelAll() == 2)
    let none = Bench(limit: 0)
    #expect(throws: TimerError(.full, timers: "bench")) { _ = try none.start(after: 10) {} }
  }

  @Test("P77 a disposal tells every call that has not started, delivered or not, and refuses later ones")
  func dispose() throws {
    let bench = Bench()
    let shelf = Shelf()
    for name in ["a", "b"] {
      _ = try bench.start(after: 10) {
        bench.log.add("called")
      } onCancel: {
        bench.log.add(name)
      }
    }
    _ = try bench.start(after: 1, .init(place: shelf.target)) {
      bench.log.add("called")
    } onCancel: {
      bench.log.add("c")
    }
    bench.advance(1)
    bench.calls.dispose()
    #expect(bench.log.events.sorted() == ["a", "b", "c"])
    for call in shelf.take() { call() }
    bench.advance(100)
    bench.calls.dispose()
    #expect(bench.log.events.count == 3)
    #expect(throws: TimerError(.disposed, timers: "bench")) { _ = try bench.start(after: 10) {} }
    #expect(bench.calls.count == 0)
  }

  @Test("A call cancelled while its timer is being set leaves no timer behind")
  func takenBackWhileSet() throws {
    /// A clock that runs an action in the middle of `schedule`, as another thread might.
    final class BusyClock: TimerService {
      let clock = StillClock()
      let action = Locked<(@Sendable () -> Void)?>(nil)

      var now: Deadline { clock.now }

      func schedule(at deadline: Deadline, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
        let timer = clock.schedule(at: deadline, body)
        action.withLock { $0.take() }?()
        return timer
      }

      func cancel(_ timer: ScheduledTimer) -> Bool { clock.cancel(timer) }
    }
    let bench = Bench()
    let clock = BusyClock()
    clock.action.withLock { $0 = { bench.calls.dispose() } }
    _ = try bench.calls.start(on: clock, at: clock.now + .seconds(1), .init()) {
      bench.log.add("called")
    } onCancel: {
      bench.log.add("cancelled")
    }
    #expect(bench.log.events == ["cancelled"])
    #expect(clock.clock.pendingCount == 0)
  }

  @Test("A call's captures are released at its end or cancellation, though the handle is kept, and may use the timers")
  func captures() throws {
    /// Uses the calls when it is destroyed. Under their lock that would never return.
    final class Token: Sendable {
      let bench: TimerCalls
      let ended: Record<Int>
      init(_ bench: TimerCalls, _ ended: Record<Int>) { (self.bench, self.ended) = (bench, ended) }
      deinit { ended.add(bench.count) }
      func hold() {}
    }
    let bench = Bench()
    let ended = Record<Int>()
    func start() throws -> TimerHandle {
      let token = Token(bench.calls, ended)
      return try bench.start(after: 10) {
        token.hold()
      } onCancel: {
        token.hold()
      }
    }
    let (first, second) = (try start(), try start())
    first.cancel()
    #expect(ended.events == [1])
    bench.advance(10)
    #expect(ended.events == [1, 0])
    #expect(second.isActive == false)
  }

  @Test("onCancel may cancel others and set new timers")
  func reentrantCancel() throws {
    let bench = Bench()
    for number in 0..<5 {
      _ = try bench.start(after: 10) {
        bench.log.add("called")
      } onCancel: {
        bench.log.add("\(number)")
        _ = bench.calls.cancelAll()
        _ = try? bench.start(after: 1) { bench.log.add("new") }
      }
    }
    #expect(bench.calls.cancelAll() >= 1)
    #expect(Set(bench.log.events) == ["0", "1", "2", "3", "4"])
    #expect(bench.log.events.count == 5)
  }
}
