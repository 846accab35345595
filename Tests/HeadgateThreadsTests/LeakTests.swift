#if canImport(Glibc)
import Glibc
import HeadgateThreads
import Testing

/// A thousand rounds of making, using and releasing, each kind in a separate process: no thread, no descriptor and no
/// memory is left.
@Suite struct LeakTests {
  @Test("A thousand pools leave no thread, no descriptor and no memory")
  func pools() async {
    await #expect(processExitsWith: .success) {
      let problem = try await onThread {
        try ProcessCensus.leftover { number in
          let pool = try ThreadPool(name: "leak-pool", size: 2, queueBound: number % 3 == 0 ? 4 : nil)
          let task = try pool.submit { number }
          try pool.execute {}
          if number % 2 == 0 { try task.wait() }
          pool.dispose(number % 4 == 0 ? .now : .drain)
          try pool.waitUntilDisposed(until: .after(generous))
        }
      }
      exit(saying: problem)
    }
  }

  @Test("A thousand queues of each kind leave no descriptor and no memory")
  func queues() async {
    await #expect(processExitsWith: .success) {
      let problem = try await onThread {
        try ProcessCensus.leftover { number in
          let queue = try BlockingQueue<[Int]>(capacity: [0, 1, 100, Int.max][number % 4])
          for value in 0..<50 { _ = try queue.tryPut([value]) as Bool }
          _ = try queue.tryTake()
          _ = try? queue.put([1], until: .now + .microseconds(1)) as Void
          let (sorted, delayed) = (PriorityBlockingQueue<[Int], Int>(), DelayQueue<[Int]>())
          for value in 0..<20 {
            try sorted.put([value], priority: value % 7)
            try delayed.put([value], due: .after(.seconds(value)))
          }
          _ = try sorted.take()
          _ = try? BlockingQueue.select(from: [queue, BlockingQueue()], until: .now + .microseconds(1))
        }
      }
      exit(saying: problem)
    }
  }

  @Test("A thousand timer threads leave no thread, no descriptor and no memory")
  func timers() async {
    await #expect(processExitsWith: .success) {
      let problem = try await onThread {
        try ProcessCensus.leftover { number in
          let timers = TimerThread(name: "leak-timer")
          let called = Latch()
          try timers.perform(after: .seconds(3600)) {}
          try timers.perform(repeating: .rate(.seconds(number + 1))) {}
          try timers.perform(after: .zero) { called.countDown() }
          _ = called.wait()
          timers.dispose()
        }
      }
      exit(saying: problem)
    }
  }

  @Test("A thousand loops leave no thread, no descriptor and no memory")
  func loops() async {
    await #expect(processExitsWith: .success) {
      let problem = try await onThread {
        try ProcessCensus.leftover { _ in
          let loop = try ThreadLoop(name: "leak-loop")
          let pipe = try TestPipe()
          let source = try loop.addSource {}
          _ = try loop.watch(pipe.readEnd, for: .reading) { pipe.take() }
          pipe.send()
          source.signal()
          try loop.perform(after: .seconds(3600)) {}
          try loop.performAndWait {}
          loop.stop()
          try loop.join(until: .after(generous))
          pipe.closeBoth()
        }
      }
      exit(saying: problem)
    }
  }

  @Test("A thousand managed threads, joined, detached, dropped and never started, leave no thread and no memory")
  func threads() async {
    await #expect(processExitsWith: .success) {
      let problem = try await onThread {
        let local = ThreadLocal<[Int]> { [] }
        return try ProcessCensus.leftover { number in
          switch number % 4 {
          case 0:
            _ = try ManagedThread.spawn {
              local.value = [number]
              return number
            }.join()
          case 1: try ManagedThread.spawn { ManagedThread.dictionary["number"] = number }.detach()
          case 2: try ManagedThread.spawnDetached { _ = ThreadLoop.current }
          default: _ = ManagedThread { [number] }
          }
        }
      }
      exit(saying: problem)
    }
  }
}
#endif
