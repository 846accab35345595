import HeadgateThreads
import Testing

/// Owners, limits and the end of the `perform` family's calls, on a manual clock.
@Suite struct TimerCallsOwnerTests {
  @Test("Calls are cancelled by owner, and by owner and key, and others stay")
  func owners() throws {
    final class Owner {}
    struct Selector: Hashable { var name: String, argument: Int }
    let bench = TimerCallsBench()
    let (one, two) = (Owner(), Owner())
    func start(_ owner: Owner, _ key: (any Hashable & Sendable)?, _ name: String) throws {
      _ = try bench.start(after: 10, owner: owner, key: key) { bench.log.add(name) }
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
    let bench = TimerCallsBench()
    let owner = Owner()
    for number in 0..<3 {
      let key = Key(number: number, bench: bench.calls)
      _ = try bench.start(after: 10, owner: owner, key: key) { bench.log.add("\(number)") }
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
    let bench = TimerCallsBench()
    do {
      let owner = Owner(bench.calls)
      _ = try bench.start(after: 10, owner: owner, key: "a") { bench.log.add("called") }
      #expect(bench.calls.count == 1)
    }
    #expect(bench.calls.count == 0)
    bench.advance(10)
    #expect(bench.log.events == [])
  }

  @Test("At the limit a call throws, and succeeds again when one has ended")
  func limit() throws {
    let bench = TimerCallsBench(limit: 2)
    let first = try bench.start(after: 10) {}
    _ = try bench.start(after: 20, repetition: .rate(.nanoseconds(10))) {}
    #expect(throws: TimerError(.full, timers: "bench")) { _ = try bench.start(after: 10) {} }
    #expect(bench.calls.count == 2)
    #expect(bench.clock.pendingCount == 2)
    first.cancel()
    _ = try bench.start(after: 10) {}
    bench.advance(10)
    _ = try bench.start(after: 10) {}
    #expect(throws: TimerError(.full, timers: "bench")) { _ = try bench.start(after: 10) {} }
    #expect(bench.calls.cancelAll() == 2)
    let none = TimerCallsBench(limit: 0)
    #expect(throws: TimerError(.full, timers: "bench")) { _ = try none.start(after: 10) {} }
  }

  @Test("P77 a disposal tells every call that has not started, delivered or not, and refuses later ones")
  func dispose() throws {
    let bench = TimerCallsBench()
    let shelf = Shelf()
    for name in ["a", "b"] {
      _ = try bench.start(after: 10) {
        bench.log.add("called")
      } onDrop: {
        bench.log.add(name)
      }
    }
    _ = try bench.start(after: 1, place: shelf.target) {
      bench.log.add("called")
    } onDrop: {
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
    let bench = TimerCallsBench()
    let clock = BusyClock()
    clock.action.withLock { $0 = { bench.calls.dispose() } }
    _ = try bench.calls.start(on: clock, at: clock.now + .seconds(1)) {
      bench.log.add("called")
    } onDrop: {
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
    let bench = TimerCallsBench()
    let ended = Record<Int>()
    func start() throws -> TimerHandle {
      let token = Token(bench.calls, ended)
      return try bench.start(after: 10) {
        token.hold()
      } onDrop: {
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

  @Test("onDrop may cancel others and set new timers")
  func reentrantCancel() throws {
    let bench = TimerCallsBench()
    for number in 0..<5 {
      _ = try bench.start(after: 10) {
        bench.log.add("called")
      } onDrop: {
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
