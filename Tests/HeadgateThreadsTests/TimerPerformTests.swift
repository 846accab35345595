import Testing

@testable import HeadgateThreads

/// The `perform` family and the sleep on a real thread.
@Suite struct TimerPerformTests {
  @Test("A repetition prints as in a program")
  func repetitions() {
    #expect("\(TimerRepetition.rate(.seconds(2)))" == "rate(2.0 seconds)")
    #expect("\(TimerRepetition.rate(.seconds(2), missed: .burst))" == "rate(2.0 seconds, missed: burst)")
    #expect("\(TimerRepetition.delay(.seconds(2)))" == "delay(2.0 seconds)")
  }

  @Test("A call after a delay, at a deadline and repeatedly, on the timer thread")
  func perform() throws {
    let timers = TimerThread(name: "test-perform")
    defer { timers.dispose() }
    let done = Latch(5)
    let threads = Record<UInt>()
    let step: @Sendable () -> Void = {
      threads.add(threadNumber())
      done.countDown()
    }
    try timers.perform(after: .zero, step)
    try timers.perform(at: .now, step)
    let beat = try timers.perform(repeating: .rate(.microseconds(100)), step)
    #expect(done.wait())
    #expect(beat.cancel())
    #expect(Set(threads.events).count == 1)
  }

  @Test("A call is delivered to a target: another thread, a task executor")
  func targets() throws {
    /// Runs each job on a separate thread.
    final class ThreadEach: TaskExecutor {
      func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        do {
          _ = try WorkerThread(name: "test-job") { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        } catch {
          Issue.record(error)
        }
      }
    }
    let timers = TimerThread(name: "test-targets")
    defer { timers.dispose() }
    let timerThread = Record<UInt>()
    let others = Record<UInt>()
    let done = Latch(3)
    try timers.perform(after: .zero) {
      timerThread.add(threadNumber())
      done.countDown()
    }
    let threads = Delivery.submitting { call in _ = try WorkerThread(name: "test-call") { call() } }
    for target in [threads, .executor(ThreadEach())] {
      try timers.perform(after: .zero, on: target) {
        others.add(threadNumber())
        done.countDown()
      }
    }
    #expect(done.wait())
    #expect(others.events.count == 2)
    #expect(!others.events.contains(timerThread.events[0]))
  }

  @Test("A pool as target: its threads make the call; a full or disposed one refuses it at once, which is reported")
  func onPool() throws {
    let errors = Record<ThreadPoolError.Code>()
    let refused = Latch(2)
    let timers = TimerThread(name: "test-pool-target") { error, _ in
      if let error = error as? ThreadPoolError { errors.add(error.code) }
    }
    defer { timers.dispose() }
    let pool = try ThreadPool(name: "test-pool", size: 1, queueBound: 0, policy: .block)
    let called = Latch()
    let isThere = Record<Bool>()
    try timers.perform(after: .zero, on: .pool(pool, priority: .high)) {
      isThere.add(pool.isCurrent)
      called.countDown()
    }
    #expect(called.wait())
    #expect(isThere.events == [true])

    #expect(looks { pool.statistics.idle > 0 })
    let plug = try Plug(pool, threads: 1)
    func performInVain() throws {
      try timers.perform(after: .zero, on: .pool(pool)) {
        Issue.record("called")
      } onDrop: {
        refused.countDown()
      }
    }
    try performInVain()
    // The timer thread did not wait for room.
    let later = Latch()
    try timers.perform(after: .zero) { later.countDown() }
    #expect(later.wait())
    plug.open()
    try pool.finish()
    try performInVain()
    #expect(refused.wait())
    #expect(errors.events == [.timedOut, .disposed])
    #expect(timers.pendingCount == 0)
  }

  @Test(
    "A call that a pool or a loop has accepted and ends without making: reported, and told", arguments: [true, false])
  func takenInVain(isPool: Bool) async throws {
    let reported = Latch()
    let timers = TimerThread(name: "test-in-vain") { error, _ in
      if (error as? TimerError)?.code == .dropped { reported.countDown() }
    }
    defer { timers.dispose() }
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let loop = try ThreadLoop(name: "test-loop")
    let plug = try Plug(pool, threads: 1)
    let release = await loop.occupy()
    let told = Latch()
    let handedOver = Latch()
    let target = isPool ? Delivery.pool(pool) : .loop(loop)
    try timers.perform(after: .zero, on: target) {
      Issue.record("called")
    } onDrop: {
      told.countDown()
    }
    // Timers of one thread are called one after another.
    try timers.perform(after: .zero) { handedOver.countDown() }
    try await onThread { try #require(handedOver.wait()) }
    pool.dispose(.now)
    loop.stop()
    release.countDown()
    plug.open()
    let ends = try await onThread { told.wait() && reported.wait() }
    #expect(ends)
    try await loop.join(until: .after(generous))
    try await pool.waitUntilDisposed(until: .after(generous))
  }

  @Test("P71 a cancellation that races with a target's start: exactly one of the call and onDrop happens")
  func cancelRace() throws {
    let timers = TimerThread(name: "test-race")
    defer { timers.dispose() }
    let crew = LaneCrew(name: "test-crew", size: 2)
    let lanes = [SerialLane(on: crew), SerialLane(on: crew)]
    let count = 4000
    let ends = Record<(number: Int, called: Bool)>()
    let ended = Latch(count)
    var random = SeededRandom(seed: 71)
    var cancelled = 0
    for number in 0..<count {
      let handle = try timers.perform(
        after: .nanoseconds(Int.random(in: 0..<20_000, using: &random)),
        on: .submitting { call in lanes[number % 2].run(call) }
      ) {
        ends.add((number, true))
        ended.countDown()
      } onDrop: {
        ends.add((number, false))
        ended.countDown()
      }
      for _ in 0..<Int.random(in: 0..<400, using: &random) { _ = Deadline.now }
      if handle.cancel() { cancelled += 1 }
    }
    #expect(ended.wait())
    #expect(ends.events.count == count)
    #expect(Set(ends.events.map(\.number)).count == count)
    #expect(ends.events.count { !$0.called } == cancelled)
    #expect(timers.pendingCount == 0)
  }

  @Test("P71 three threads cancel and move one timer at once: onDrop if a cancellation returned true, else the call")
  func handleRace() throws {
    let timers = TimerThread(name: "test-handle-race")
    defer { timers.dispose() }
    for _ in 0..<100 {
      let ends = Record<Bool>()
      let wasCancelled = Locked(false)
      let handle = try timers.perform(after: .microseconds(100)) {
        ends.add(true)
      } onDrop: {
        ends.add(false)
      }
      try onThreads(3) { number in
        if number == 0 {
          let answer = handle.cancel()
          wasCancelled.withLock { $0 = answer }
        } else {
          handle.reschedule(after: .microseconds(number * 10))
        }
      }
      // A move during the call has set it once more, before this one.
      let settled = Latch()
      _ = timers.schedule(after: .milliseconds(1)) { settled.countDown() }
      #expect(settled.wait())
      let answer = wasCancelled.withLock { $0 }
      #expect(ends.events.count { !$0 } == (answer ? 1 : 0))
      #expect(answer || ends.events.contains(true))
      #expect(handle.isActive == false)
      #expect(handle.isCancelled == answer)
    }
    #expect(timers.pendingCount == 0)
  }

  @Test("P77 a disposal inside a call cancels the others, ends the thread and refuses later calls")
  func disposeFromInside() throws {
    let timers = TimerThread(name: "test-dispose")
    let told = Record<String>()
    let done = Latch()
    let ended = Latch()
    try timers.perform(after: .seconds(3600)) {
      told.add("called")
    } onDrop: {
      told.add("cancelled")
    }
    _ = timers.schedule(at: .distantFuture) { Issue.record("called though never was asked for") }
    try timers.perform(after: .zero) {
      atThreadExit { ended.countDown() }
      timers.dispose()
      told.add("goes on")
      done.countDown()
    }
    #expect(done.wait())
    #expect(ended.wait())
    #expect(told.events == ["cancelled", "goes on"])
    #expect(timers.isDisposed)
    #expect(timers.pendingCount == 0)
    #expect(throws: TimerError(.disposed, timers: "test-dispose")) { try timers.perform(after: .zero) {} }
    timers.dispose()
  }

  @Test("P77 a disposal of the shared timer thread cancels its calls, and it goes on")
  func disposeShared() async {
    await #expect(processExitsWith: .success) {
      let told = Record<String>()
      let events = try await onThread {
        try TimerThread.shared.perform(after: .seconds(3600)) {
          told.add("called")
        } onDrop: {
          told.add("cancelled")
        }
        TimerThread.shared.dispose()
        let called = Latch()
        try TimerThread.shared.perform(after: .zero) { called.countDown() }
        if called.wait() { told.add("goes on") }
        return told.events
      }
      try #require(events == ["cancelled", "goes on"] && !TimerThread.shared.isDisposed)
    }
  }

  @Test("P77 a thousand timer threads made and disposed of leave no thread behind")
  func rounds() throws {
    let ended = Latch(1000)
    for round in 0..<1000 {
      let timers = TimerThread(name: "test-round")
      let called = Latch()
      try timers.perform(after: .zero) {
        atThreadExit { ended.countDown() }
        called.countDown()
      }
      // Half of the threads have nothing else to wait for.
      if round % 2 == 0 {
        _ = timers.schedule(at: .distantFuture) { Issue.record("called though never was asked for") }
      }
      #expect(called.wait())
      timers.dispose()
    }
    #expect(ended.wait())
  }

  @Test("P74 sweeps beside schedules, cancellations and calls of several threads lose and double nothing")
  func sweepRace() throws {
    let timers = TimerThread(name: "test-sweep")
    defer { timers.dispose() }
    let calls = Record<Int>()
    let kept = Record<ScheduledTimer>()
    let cancelled = Record<Int>()
    let due = Latch(4 * 200)
    try onThreads(4) { thread in
      for round in 0..<200 {
        // Most are cancelled at once and leave dead entries, which soon become due. The others stay, in slots of dead
        // ones.
        let near = (0..<50).map { place in
          timers.schedule(after: .microseconds(500 + place)) { calls.add(-2) }
        }
        kept.add(timers.schedule(after: .seconds(3600)) { calls.add(-1) })
        _ = timers.schedule(at: .now) {
          calls.add(thread * 1000 + round)
          due.countDown()
        }
        cancelled.add(near.count { $0.cancel() })
      }
    }
    #expect(due.wait())
    let settled = Latch()
    _ = timers.schedule(after: .milliseconds(1)) { settled.countDown() }
    #expect(settled.wait())
    let events = calls.events
    #expect(Set(events.filter { $0 >= 0 }).count == 800)
    #expect(events.count { $0 >= 0 } == 800)
    #expect(!events.contains(-1), "a timer came an hour early")
    // Each of the near ones was either called or cancelled.
    #expect(events.count { $0 == -2 } + cancelled.events.reduce(0, +) == 4 * 200 * 50)
    #expect(timers.pendingCount == 800)
    for timer in kept.events { #expect(timer.cancel()) }
    #expect(timers.pendingCount == 0)
  }

  @Test("A sleep ends after its deadline, at once if that has passed, and cancelAll does not cancel it")
  func sleep() async throws {
    let timers = TimerThread(name: "test-sleep", limit: 0)
    defer { timers.dispose() }
    let deadline = Deadline.after(.milliseconds(2))
    let sleeper = Task { try await timers.sleep(until: deadline) }
    #expect(timers.cancelAll() == 0)
    try await sleeper.value
    #expect(Deadline.now >= deadline)
    try await timers.sleep(until: .distantPast)
    try await timers.sleep(for: .seconds(-1))
    #expect(timers.pendingCount == 0)
  }

  /// Runs each job at once, on the enqueuing thread. A task on it runs until its first sleep when it is created.
  private final class AtOnce: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  @Test(
    "A sleep ends when its task is cancelled, in advance or meanwhile, and leaves nothing", arguments: [false, true])
  func sleepCancelled(before: Bool) async throws {
    let timers = TimerThread(name: "test-sleep")
    defer { timers.dispose() }
    let sleeper = Task(executorPreference: AtOnce()) {
      if before { withUnsafeCurrentTask { $0?.cancel() } }
      try await timers.sleep(for: .seconds(3600))
    }
    #expect(timers.disposal.withLock { $0.waiters.count } == (before ? 0 : 1))
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
    #expect(timers.disposal.withLock { $0.waiters.isEmpty })
  }

  @Test("A sleep ends when its timer thread is disposed of, in advance or meanwhile")
  func sleepDisposed() async throws {
    let timers = TimerThread(name: "test-sleep")
    let sleeper = Task(executorPreference: AtOnce()) { try await timers.sleep(until: .distantFuture) }
    #expect(timers.disposal.withLock { $0.waiters.count } == 1)
    timers.dispose()
    var error = await #expect(throws: WaitError.self) { try await sleeper.value }
    #expect(error?.code == .closed)
    error = await #expect(throws: WaitError.self) { try await timers.sleep(for: .seconds(3600)) }
    #expect(error?.code == .closed)
  }
}
