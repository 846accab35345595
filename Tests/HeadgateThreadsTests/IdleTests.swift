#if canImport(Glibc)
import Glibc
import HeadgateThreads
import Testing

/// Idle objects use no processor time: their threads don't run at all.
@Suite struct IdleTests {
  @Test("An idle pool, queue, timer thread and loop use no processor time")
  func nobodyRuns() async {
    // In a separate process, where they have nothing to do.
    await #expect(processExitsWith: .success) {
      let problem = try await onThread { () -> String? in
        let pool = try ThreadPool(name: "idle-pool", size: 2, idleTime: .seconds(3600))
        for _ in 0..<2 { try pool.submit {}.wait() }
        let timers = TimerThread(name: "idle-timer")
        try timers.perform(after: .seconds(3600)) {}
        let called = Latch()
        try timers.perform(after: .zero) { called.countDown() }
        _ = called.wait()
        let loop = try ThreadLoop(name: "idle-loop")
        let watching = try ThreadLoop(name: "idle-watching")
        let pipe = try TestPipe()
        _ = try watching.watch(pipe.readEnd, for: .reading) {}
        try loop.perform(after: .seconds(3600)) {}
        for loop in [loop, watching] { try loop.performAndWait {} }
        let queues = [try BlockingQueue<Int>(capacity: 0), try BlockingQueue<Int>(capacity: 1), BlockingQueue<Int>()]
        let begun = Latch(queues.count + 1)
        for queue in queues {
          _ = try ManagedThread.spawnDetached(ThreadAttributes(name: "idle-taker")) {
            begun.countDown()
            _ = try queue.take()
          }
        }
        _ = try ManagedThread.spawnDetached(ThreadAttributes(name: "idle-select")) {
          begun.countDown()
          _ = try BlockingQueue.select(from: queues, until: .after(.seconds(3600)))
        }
        guard begun.wait() else { return "a thread did not begin" }
        // Time is measured in the work of two other threads. The first part lasts until all have gone to sleep, since
        // an idle thread may check a few more times before that, and may have to wait for a processor.
        var before = ProcessCensus.switches(of: "idle-")
        var calm = 0
        for _ in 0..<1000 where calm < 5 {
          try handOver(1000)
          let areAsleep = ProcessCensus.areAsleep("idle-")
          let now = ProcessCensus.switches(of: "idle-")
          calm = areAsleep && now == before ? calm + 1 : 0
          before = now
        }
        guard before.count >= 8 else { return "only \(before.count) threads" }
        try handOver(20_000)
        let after = ProcessCensus.switches(of: "idle-")
        return withExtendedLifetime((pool, timers, loop, watching, queues, pipe)) {
          before == after ? nil : "somebody ran: \(before), then \(after)"
        }
      }
      exit(saying: problem)
    }
  }
}

/// Passes elements from one thread to another and back, each with about one sleep and one wake-up.
private func handOver(_ count: Int) throws {
  let there = try BlockingQueue<Int>(capacity: 0)
  let back = try BlockingQueue<Int>(capacity: 0)
  let echo = try ManagedThread.spawn {
    for _ in 0..<count { try back.put(try there.take()) }
  }
  for number in 0..<count {
    try there.put(number)
    _ = try back.take()
  }
  try echo.join()
}
#endif
