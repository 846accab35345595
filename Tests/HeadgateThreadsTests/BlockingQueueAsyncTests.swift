import HeadgateThreads
import Testing

@Suite(.timeLimit(.minutes(2))) struct BlockingQueueAsyncTests {
  @Test("Tasks on both sides: nothing is lost or doubled", arguments: [0, 1, 100, Int.max])
  func streams(capacity: Int) async throws {
    let queue = try BlockingQueue<Int>(capacity: capacity)
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for putter in 0..<3 {
        group.addTask {
          for round in 0..<1000 { try await queue.put(round * 3 + putter) }
          return 0
        }
        group.addTask {
          var sum = 0
          for _ in 0..<1000 { sum += try await queue.take() }
          return sum
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(sum == 2999 * 1500)
    #expect(queue.waitingCounts == (0, 0))
  }

  @Test("P23 threads and tasks form one line and are woken in its order", arguments: [0, 1])
  func mixed(capacity: Int) async throws {
    let queue = try BlockingQueue<Int>(capacity: capacity)
    let got = Record<String>()
    var tasks: [Task<Void, Never>] = []
    var threads: [Blocked<Void>] = []
    for number in 0..<6 {
      if number % 2 == 0 {
        tasks.append(Task { got.add("task \(await ending { () async throws in try await queue.take() })") })
      } else {
        threads.append(try Blocked { got.add("thread \(ending { () throws(WaitError) in try queue.take() })") })
      }
      #expect(await untilAsync { queue.waitingCounts.takers == number + 1 })
    }
    for number in 0..<6 {
      try await queue.put(number)
      #expect(await untilAsync { got.events.count == number + 1 })
    }
    for task in tasks { await task.value }
    #expect(
      got.events == (0..<6).map { "\($0 % 2 == 0 ? "task" : "thread") \(Ending.value($0))" })
  }

  @Test("P22 a task cancelled before, during and after its wait", arguments: [0, 1])
  func cancel(capacity: Int) async throws {
    let queue = try BlockingQueue<Int>(capacity: capacity)
    // Before: it does not wait.
    let before = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await ending { () async throws in try await queue.take() }
    }
    #expect(await before.value == .cancelledTask)
    // During.
    let during = Task { await ending { () async throws in try await queue.take() } }
    #expect(await untilAsync { queue.waitingCounts.takers == 1 })
    during.cancel()
    during.cancel()
    #expect(await during.value == .cancelledTask)
    #expect(queue.waitingCounts == (0, 0))
    // After, and at the same time: in any order, the element is with the task or in the queue.
    for round in 0..<300 {
      let queue = try BlockingQueue<Int>(capacity: 1)
      let task = Task { await ending { () async throws in try await queue.take() } }
      if round % 2 == 0 { #expect(await untilAsync { queue.waitingCounts.takers == 1 }) }
      async let cancelled: Void = task.cancel()
      #expect(try queue.tryPut(round))
      await cancelled
      let result = await task.value
      let left = try queue.tryTake()
      #expect(result == .value(round) && left == nil || result == .cancelledTask && left == round)
    }
  }

  @Test("P22 a cancelled put puts nothing, and its element is returned", arguments: [0, 1])
  func cancelPut(capacity: Int) async throws {
    let census = Census()
    let queue = try BlockingQueue<Parcel>(capacity: capacity)
    if capacity == 1 { expectAccepted(queue.tryPut(Parcel(0, census))) }
    let task = Task { () -> Ending in
      switch await queue.put(Parcel(1, census)) {
      case .accepted: .done
      case .refused(let parcel, let error): parcel.number == 1 ? .error(error.code) : .done
      }
    }
    #expect(await untilAsync { queue.waitingCounts.putters == 1 })
    task.cancel()
    #expect(await task.value == .error(.cancelled))
    #expect(census.alive == capacity)
    #expect(queue.count == capacity)
  }

  @Test("P10 no wake-up is lost between a task's check and its suspension", arguments: [true, false])
  func noLostWakeUp(taskPuts: Bool) async throws {
    let queue = try BlockingQueue<Int>(capacity: 1)
    let rounds = 20_000
    let other = try ManagedThread.spawn { () -> Bool in
      for round in 0..<rounds {
        let end: Ending
        if taskPuts {
          end = ending { () throws(WaitError) in try queue.take(until: .after(generous)) }
        } else {
          end = ending(of: { () throws(WaitError) in try queue.put(round, until: .after(generous)) })
        }
        guard end == (taskPuts ? Ending.value(round) : Ending.done) else {
          queue.close()
          return false
        }
      }
      return true
    }
    for round in 0..<rounds {
      let end: Ending
      if taskPuts {
        end = await ending(of: { () async throws in try await queue.put(round) })
      } else {
        end = await ending { () async throws in try await queue.take() }
      }
      guard end == (taskPuts ? Ending.done : Ending.value(round)) else { break }
    }
    #expect(try await other.value(), "one of the two slept while there was something to do")
  }

  @Test(
    "P11 a task cancelled after it was woken takes its element, or leaves it to the next",
    arguments: [true, false])
  func passedOn(isOvertaken: Bool) async throws {
    let executor = HeldExecutor()
    let queue = BlockingQueue<Int>()
    let tasks = (0..<2).map { _ in
      Task(executorPreference: executor) { await ending { () async throws in try await queue.take() } }
    }
    try executor.runAll()
    #expect(queue.waitingCounts.takers == 2)
    // The first one is woken, and cancelled before it runs again.
    #expect(try queue.tryPut(1))
    #expect(queue.waitingCounts.takers == 1)
    if isOvertaken { #expect(try queue.tryTake() == 1) }
    tasks[0].cancel()
    try executor.runAll()
    #expect(await tasks[0].value == (isOvertaken ? .cancelledTask : .value(1)))
    #expect(try queue.tryPut(2))
    try executor.runAll()
    #expect(await tasks[1].value == .value(2))
    #expect(queue.waitingCounts == (0, 0))
  }

  @Test("P11 a partner skips tasks that have given up and are still in line", arguments: [true, false])
  func passedOver(isPut: Bool) async throws {
    let executor = HeldExecutor()
    let queue = try BlockingQueue<Int>(capacity: 0)
    let tasks = (0..<3).map { number in
      Task(executorPreference: executor) { () -> Ending in
        if isPut { return await ending(of: { () async throws in try await queue.put(number) }) }
        return await ending { () async throws in try await queue.take() }
      }
    }
    try executor.runAll()
    // They do not run before the last one's turn has come.
    tasks[0].cancel()
    tasks[1].cancel()
    if isPut { #expect(try queue.tryTake() == 2) } else { #expect(try queue.tryPut(2)) }
    try executor.runAll()
    // Nothing waits without a limit, in case this fails.
    queue.close()
    try executor.runAll()
    #expect(await tasks[0].value == .cancelledTask)
    #expect(await tasks[1].value == .cancelledTask)
    #expect(await tasks[2].value == (isPut ? .done : .value(2)))
  }

  @Test("P11 a task that gives up just as an element arrives leaves it to the next")
  func passedOnAtRandom() async throws {
    for _ in 0..<300 {
      let queue = BlockingQueue<Int>()
      let first = Task { await ending { () async throws in try await queue.take() } }
      #expect(await untilAsync { queue.waitingCounts.takers == 1 })
      let second = Task {
        await ending { () async throws in try await queue.take(until: .after(generous)) }
      }
      async let cancelled: Void = first.cancel()
      try queue.tryPutOrFail(1)
      await cancelled
      if case .value = await first.value { try queue.tryPutOrFail(2) }
      guard case .value = await second.value else {
        Issue.record("the second one got nothing")
        return
      }
    }
  }

  @Test(
    "Deadlines of tasks: a past one still takes an available element; one that passes ends the wait",
    arguments: [0, 1])
  func deadlines(capacity: Int) async throws {
    let queue = try BlockingQueue<Int>(capacity: capacity)
    #expect(
      await ending { () async throws in try await queue.take(until: .distantPast) } == .error(.timedOut))
    let limit = Deadline.after(.milliseconds(2))
    #expect(await ending { () async throws in try await queue.take(until: limit) } == .error(.timedOut))
    #expect(Deadline.now >= limit)
    if capacity == 1 {
      try await queue.put(1, until: .distantPast)
      #expect(
        await ending(of: { () async throws in try await queue.put(2, until: .distantPast) })
          == .error(.timedOut))
      #expect(try await queue.take(until: .distantPast) == 1)
    }
    #expect(queue.waitingCounts == (0, 0))
  }

  @Test("A past deadline suspends no task", arguments: [0, 1])
  func staysAwake(capacity: Int) async throws {
    /// Counts the jobs of its tasks.
    final class Counting: TaskExecutor {
      let pieces = Count()

      func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pieces.add()
        do {
          _ = try WorkerThread(name: "test-job") { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        } catch {
          Issue.record(error)
        }
      }
    }
    let queue = try BlockingQueue<Int>(capacity: capacity)
    let executor = Counting()
    let ends = await Task(executorPreference: executor) { () -> [Ending] in
      let take = await ending { () async throws in try await queue.take(until: .now) }
      if capacity > 0 { _ = try? queue.tryPut(1) as Bool }
      let put = await ending(of: { () async throws in try await queue.put(2, until: .now) })
      return [take, put]
    }.value
    #expect(ends == [.error(.timedOut), .error(.timedOut)])
    #expect(executor.pieces.value == 1)
  }

  @Test("P16 close ends the waits of tasks", arguments: [0, 1])
  func close(capacity: Int) async throws {
    let queue = try BlockingQueue<Int>(capacity: capacity)
    let taker = Task { await ending { () async throws in try await queue.take() } }
    #expect(await untilAsync { queue.waitingCounts.takers == 1 })
    queue.close()
    #expect(await taker.value == .error(.closed))
    #expect(await ending(of: { () async throws in try await queue.put(1) }) == .error(.closed))
  }

  @Test("values ends when the queue is closed and empty; two loops share the elements")
  func values() async throws {
    let queue = try BlockingQueue<Int>(capacity: 3)
    async let first = queue.values.reduce(into: [Int]()) { $0.append($1) }
    async let second = queue.values.reduce(into: [Int]()) { $0.append($1) }
    for number in 0..<500 { try await queue.put(number) }
    queue.close()
    let (one, two) = await (first, second)
    #expect((one + two).sorted() == Array(0..<500))
    #expect(one == one.sorted() && two == two.sorted())
  }

  @Test("values ends when its task is cancelled")
  func valuesCancelled() async throws {
    let queue = BlockingQueue<Int>()
    let task = Task { await queue.values.reduce(0, +) }
    try await queue.put(5)
    #expect(await untilAsync { queue.waitingCounts.takers == 1 })
    task.cancel()
    #expect(await task.value == 5)
  }

  @Test("A loop that is cancelled ends beside present elements, and leaves them")
  func cancelledLoops() async throws {
    let queue = BlockingQueue<Int>()
    for number in 0..<3 { try await queue.put(number) }
    let seen = await Task {
      var seen: [Int] = []
      for await number in queue.values {
        seen.append(number)
        withUnsafeCurrentTask { $0?.cancel() }
      }
      return seen
    }.value
    #expect(seen == [0])
    let blocked = try Blocked { () -> [Int] in
      var seen: [Int] = []
      guard let elements = try? queue.elements else { return [] }
      for number in elements {
        seen.append(number)
        ManagedThread.current.cancel()
      }
      return seen
    }
    #expect(try blocked.result() == [1])
    #expect(queue.drain() == [2])
  }

  @Test("elements ends when the queue is closed and empty, or the thread is cancelled")
  func elements() async throws {
    let queue = try BlockingQueue<Int>(capacity: 3)
    let loop = try Blocked { (try? queue.elements.reduce(0, +)) ?? 0 }
    for number in 0..<500 { try await queue.put(number) }
    queue.close()
    #expect(try loop.result() == 499 * 250)
    let other = BlockingQueue<Int>()
    let endless = try Blocked { (try? Array(other.elements)) ?? [] }
    try await other.put(1)
    #expect(await untilAsync { other.waitingCounts.takers == 1 })
    endless.cancel()
    #expect(try endless.result() == [1])
  }
}

extension BlockingQueue {
  /// For async tests: there is room.
  fileprivate func tryPutOrFail(_ element: sending Element) throws {
    #expect(try tryPut(element))
  }
}
