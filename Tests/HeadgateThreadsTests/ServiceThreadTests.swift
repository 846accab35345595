import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Properties of threads that serve others: those of loops, pools and timers.
@Suite struct ServiceThreadTests {
  @Test("The thread of a loop or of timers can't be cancelled: later closures can wait as before")
  func refuseCancel() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let timers = TimerThread(name: "test-timer")
    let answers = Record<Bool>()
    let done = Latch(2)
    for run in [
      { @Sendable body in _ = loop.perform(body) }, { @Sendable body in _ = timers.schedule(at: .now, body) },
    ]
      as [@Sendable (@escaping @Sendable () -> Void) -> Void]
    {
      run {
        answers.add(ManagedThread.current.cancel())
        answers.add(ManagedThread.current.isCancelled)
        done.countDown()
      }
    }
    try #require(try await onThread { done.wait() })
    #expect(answers.events == [false, false, false, false])
    try await loop.performAndWait { try ManagedThread.checkCancellation() }
    loop.stop()
    timers.dispose()
  }

  @Test("A call that blocks the program's timers does not delay a deadline of a task that waits at a queue")
  func heldTimers() async throws {
    let queue = try BlockingQueue<Int>(capacity: 1)
    let ordered = PriorityBlockingQueue<Int, Int>()
    let (inside, release) = (Latch(), Latch())
    let wasReleased = Record<Bool>()
    _ = TimerThread.shared.schedule(at: .now) {
      inside.countDown()
      wasReleased.add(release.wait())
    }
    try #require(try await onThread { inside.wait() })
    #expect(await ending { try await queue.take(until: .after(.milliseconds(1))) } == .error(.timedOut))
    #expect(await ending { try await ordered.take(until: .after(.milliseconds(1))) } == .error(.timedOut))
    release.countDown()
    #expect(await untilAsync { wasReleased.events == [true] })
  }

  @Test("A call may block on a timer thread of the program; on that of the process its wait is refused")
  func waitingCalls() async throws {
    let full = try BlockingQueue<Int>(capacity: 1)
    try await full.put(1)
    let timers = TimerThread(name: "test-timer")
    let ends = Record<Ending>()
    let put = { @Sendable in ends.add(ending(of: { () throws(WaitError) in try full.put(2) })) }
    _ = TimerThread.shared.schedule(at: .now, put)
    #expect(await untilAsync { ends.events == [.error(.onCooperativeThread)] })
    _ = timers.schedule(at: .now, put)
    #expect(await untilAsync { full.waitingCounts.putters == 1 })
    #expect(try await full.take() == 1)
    #expect(await untilAsync { ends.events.last == .done })
    timers.dispose()
  }

  @Test("Service threads take no signals, so that a thread that waits for signals gets them")
  func signals() async throws {
    let masks = try await onThread { () -> [Bool] in
      // Threads of the cooperative pool, whose mask this one has, block signals themselves.
      var all = sigset_t()
      sigfillset(&all)
      pthread_sigmask(SIG_UNBLOCK, &all, nil)
      let blocked = Record<Bool>()
      let done = Latch(3)
      @Sendable func look() {
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD] { blocked.add(sigismember(&mask, signal) == 1) }
        // A fault belongs to its thread. Blocked, it would end the process without its handler.
        for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP] { blocked.add(sigismember(&mask, signal) == 0) }
        done.countDown()
      }
      let loop = try ThreadLoop(name: "test-loop")
      let pool = try ThreadPool(name: "test-pool", size: 1)
      let timers = TimerThread(name: "test-timer")
      loop.perform { look() }
      try pool.execute { look() }
      _ = timers.schedule(at: .now) { look() }
      _ = done.wait()
      loop.stop()
      timers.dispose()
      // The starting thread's own mask is unchanged.
      var mask = sigset_t()
      pthread_sigmask(SIG_BLOCK, nil, &mask)
      return blocked.events + [sigismember(&mask, SIGTERM) == 0]
    }
    #expect(masks == Array(repeating: true, count: 31))
  }

  @Test("The current loop is one object as long as it has work left")
  func currentWhileDraining() async throws {
    var loop: ThreadLoop? = try ThreadLoop(name: "test-loop")
    let release = Latch()
    let seen = Record<ThreadLoop>()
    let done = Latch()
    loop?.perform { _ = release.wait() }
    for _ in 0..<2 { loop?.perform { seen.add(ThreadLoop.current) } }
    loop?.perform { done.countDown() }
    let serial = loop?.serialExecutor
    loop = nil
    release.countDown()
    try #require(try await onThread { done.wait() })
    let loops = seen.events
    #expect(loops.count == 2 && loops[0] === loops[1])
    #expect(loops.allSatisfy { $0.serialExecutor === serial })
  }
}
