import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct TimerThreadTests {
  /// A timer thread that its test disposes of explicitly: an optimized build releases objects after their last use.
  private final class Bench: Sendable {
    let timers = TimerThread(name: "test-timer")

    func stop() { timers.dispose() }

    /// Blocks the timer thread inside a call, until the latch is opened.
    func occupy() -> Latch {
      let inside = Latch()
      let release = Latch()
      _ = timers.schedule(at: .distantPast) {
        inside.countDown()
        _ = release.wait()
      }
      #expect(inside.wait())
      return release
    }

    /// Waits until all calls that are due now have been made.
    func settle() {
      let done = Latch()
      // Equal deadlines are called in the order of scheduling.
      _ = timers.schedule(at: .now) { done.countDown() }
      #expect(done.wait())
    }
  }

  @Test("P72 calls come in the order of their deadlines, equal ones in the order of scheduling")
  func order() {
    let bench = Bench()
    defer { bench.stop() }
    let release = bench.occupy()
    let calls = Record<Int>()
    let done = Latch(300)
    let start = Deadline.now
    for number in 0..<300 {
      let step = (number * 7) % 10
      _ = bench.timers.schedule(at: start + .nanoseconds(step)) {
        calls.add(number)
        done.countDown()
      }
    }
    #expect(bench.timers.pendingCount == 300)
    release.countDown()
    #expect(done.wait())
    #expect(
      calls.events
        == (0..<300).sorted { (($0 * 7) % 10, $0) < (($1 * 7) % 10, $1) }
    )
    #expect(bench.timers.pendingCount == 0)
  }

  @Test("P09 no call comes early")
  func neverEarly() {
    let bench = Bench()
    defer { bench.stop() }
    let early = Record<Duration>()
    let done = Latch(40)
    for number in 0..<40 {
      let deadline = Deadline.after(.microseconds(number * 50))
      _ = bench.timers.schedule(at: deadline) {
        let now = Deadline.now
        if now < deadline { early.add(deadline - now) }
        done.countDown()
      }
    }
    #expect(done.wait())
    #expect(early.events.isEmpty)
  }

  @Test("P73 deadlines 0, past and now are called, +292 years and never are kept")
  func extremes() {
    let bench = Bench()
    defer { bench.stop() }
    let done = Latch(3)
    let kept = [Deadline.distantFuture, Deadline(nanoseconds: .max - 1), .after(.seconds(Int64.max))].map { deadline in
      bench.timers.schedule(at: deadline) { Issue.record("called: \(deadline)") }
    }
    for deadline in [Deadline.distantPast, .after(.seconds(-1)), .now] {
      _ = bench.timers.schedule(at: deadline) { done.countDown() }
    }
    #expect(done.wait())
    #expect(bench.timers.pendingCount == 3)
    for timer in kept { #expect(timer.cancel()) }
    #expect(bench.timers.pendingCount == 0)
  }

  @Test("P71 a cancellation returns true once, and the closure and its captures are released at once")
  func cancel() {
    let bench = Bench()
    defer { bench.stop() }
    let census = Census()
    func schedule() -> ScheduledTimer {
      let token = census.token()
      return bench.timers.schedule(at: .distantFuture) { token.hold() }
    }
    let (first, second) = (schedule(), schedule())
    #expect(census.alive == 2)
    #expect(first.cancel())
    #expect(census.alive == 1)
    #expect(first.cancel() == false)
    #expect(bench.timers.pendingCount == 1)
    #expect(second.cancel())
    #expect(census.alive == 0)
  }

  @Test("P71 a cancellation inside the call itself, and after it, returns false")
  func cancelFromInside() {
    let bench = Bench()
    defer { bench.stop() }
    let release = bench.occupy()
    let own = Locked<ScheduledTimer?>(nil)
    let answers = Record<Bool?>()
    let done = Latch()
    let timer = bench.timers.schedule(at: .distantPast) {
      answers.add(own.withLock { $0 }?.cancel())
      done.countDown()
    }
    own.withLock { $0 = timer }
    release.countDown()
    #expect(done.wait())
    #expect(answers.events == [false])
    #expect(timer.cancel() == false)
  }

  @Test("P71 a call can cancel the next due one")
  func cancelTheNext() {
    let bench = Bench()
    defer { bench.stop() }
    let release = bench.occupy()
    let next = Locked<ScheduledTimer?>(nil)
    let answers = Record<Bool?>()
    _ = bench.timers.schedule(at: .distantPast) { answers.add(next.withLock { $0 }?.cancel()) }
    let timer = bench.timers.schedule(at: .distantPast) { Issue.record("called though it was cancelled") }
    next.withLock { $0 = timer }
    release.countDown()
    bench.settle()
    #expect(answers.events == [true])
  }

  @Test("P71 a cancellation that races with the call: either it returns true, or the call comes")
  func cancelRace() {
    let bench = Bench()
    defer { bench.stop() }
    let calls = Record<Int>()
    var random = SeededRandom(seed: 71)
    var cancelled: Set<Int> = []
    for number in 0..<5000 {
      let timer = bench.timers.schedule(at: .after(.nanoseconds(Int64.random(in: 0..<20_000, using: &random)))) {
        calls.add(number)
      }
      for _ in 0..<Int.random(in: 0..<200, using: &random) { _ = Deadline.now }
      if timer.cancel() { cancelled.insert(number) }
    }
    bench.settle()
    let called = calls.events
    #expect(Set(called).count == called.count)
    #expect(cancelled.isDisjoint(with: called))
    #expect(cancelled.count + called.count == 5000)
    print("timers cancelled in time: \(cancelled.count) of 5000")
  }

  @Test("P78 a new earliest deadline wakes the thread out of its sleep, and on its way there")
  func earlier() {
    let bench = Bench()
    defer { bench.stop() }
    // The thread sleeps for an hour between the rounds.
    let far = bench.timers.schedule(at: .after(.seconds(3600))) { Issue.record("called an hour early") }
    let called = Parker()
    for round in 0..<5000 {
      _ = bench.timers.schedule(at: .distantPast) { called.unpark() }
      guard called.park(until: .after(generous)) else {
        Issue.record("the wake-up of round \(round) was lost")
        return
      }
    }
    #expect(far.cancel())
  }

  @Test("P78 deadlines that each precede the last one are all met")
  func everEarlier() {
    let bench = Bench()
    defer { bench.stop() }
    let calls = Record<Int>()
    let done = Latch(50)
    let base = Deadline.now
    for number in 0..<50 {
      _ = bench.timers.schedule(at: base + .microseconds(5000 - 100 * number)) {
        calls.add(number)
        done.countDown()
      }
    }
    #expect(done.wait())
    #expect(Set(calls.events).count == 50)
  }

  @Test("P71 a call can schedule the next one", arguments: [Deadline.distantPast, nil])
  func scheduleFromInside(deadline: Deadline?) {
    let bench = Bench()
    defer { bench.stop() }
    let done = Latch()
    @Sendable func step(_ left: Int) {
      if left == 0 { return done.countDown() }
      _ = bench.timers.schedule(at: deadline ?? .after(.microseconds(1))) { step(left - 1) }
    }
    step(2000)
    #expect(done.wait())
    #expect(bench.timers.pendingCount == 0)
  }

  @Test("P74 100,000 pending and cancelled: the count is exact and nothing is kept")
  func many() {
    let bench = Bench()
    defer { bench.stop() }
    let census = Census()
    func schedule(_ number: Int) -> ScheduledTimer {
      let token = census.token()
      return bench.timers.schedule(at: .after(.seconds(3600 + number * 7919 % 1000))) {
        token.hold()
        Issue.record("called an hour early")
      }
    }
    var random = SeededRandom(seed: 74)
    var pending = (0..<100_000).map { schedule($0) }
    #expect(bench.timers.pendingCount == 100_000)
    pending.shuffle(using: &random)
    for timer in pending.prefix(95_000) where !timer.cancel() { Issue.record("a pending timer was not found") }
    #expect(bench.timers.pendingCount == 5000)
    #expect(census.alive == 5000)
    for timer in pending.prefix(95_000) where timer.cancel() { Issue.record("a timer was cancelled twice") }
    for timer in pending.suffix(5000) where !timer.cancel() { Issue.record("a pending timer was not found") }
    #expect(bench.timers.pendingCount == 0)
    #expect(census.alive == 0)
  }

  @Test("Eight threads schedule at once and every call comes once")
  func manyThreads() throws {
    let bench = Bench()
    defer { bench.stop() }
    let calls = Record<Int>()
    try onThreads(8) { number in
      for round in 0..<500 { _ = bench.timers.schedule(at: .now) { calls.add(number * 1000 + round) } }
    }
    bench.settle()
    #expect(calls.events.count == 4000)
    #expect(Set(calls.events).count == 4000)
  }

  @Test("P77 a disposal drops pending and later calls, and releases them at once")
  func stop() {
    let timers = TimerThread(name: "test-timer")
    let census = Census()
    func schedule() -> ScheduledTimer {
      let token = census.token()
      return timers.schedule(at: .after(.seconds(3600))) {
        token.hold()
        Issue.record("called after the disposal")
      }
    }
    let before = schedule()
    #expect(census.alive == 1)
    timers.dispose()
    #expect(census.alive == 0)
    #expect(timers.pendingCount == 0)
    #expect(before.cancel() == false)
    let after = schedule()
    #expect(census.alive == 0)
    #expect(after.cancel() == false)
    timers.dispose()
  }

  @Test("P77 a disposal before the first timer leaves no thread to end")
  func stopUnused() {
    let timers = TimerThread(name: "test-timer")
    timers.dispose()
    #expect(timers.schedule(at: .distantPast) { Issue.record("called after the disposal") }.cancel() == false)
  }
}

/// Runs `body` when the calling thread ends. At most once for each thread.
func atThreadExit(_ body: @escaping @Sendable () -> Void) {
  // Balanced when the thread ends.
  pthread_setspecific(exitKey, Unmanaged.passRetained(ExitCall(body)).toOpaque())
}

// One for the process, which can have only about a thousand.
private let exitKey = {
  func finish(_ pointer: UnsafeMutableRawPointer?) {
    if let pointer { Unmanaged<ExitCall>.fromOpaque(pointer).takeRetainedValue().body() }
  }
  var key = pthread_key_t()
  pthread_key_create(&key) { finish($0) }
  return key
}()

private final class ExitCall: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
