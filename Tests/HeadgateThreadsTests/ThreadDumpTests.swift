import Testing

@testable import HeadgateThreads

@Suite struct ThreadDumpTests {
  /// The lines with a given name, without numbers, times, and the set of sleeping threads.
  private func lines(with name: String) -> [String] {
    ThreadDump.text().split(separator: "\n").filter { $0.contains(name) }.map { line in
      String(line).replacing(#/^(thread "[^"]*") \d+/#) { "\($0.output.1)" }
        .replacing(#/\d+\.\d+ s/#, with: "…").replacing(" sleeps, … so far", with: "")
    }
  }

  @Test(
    "A dump lists threads, loops and pools with their waiting work, and waits; stopped ones are not in it"
  )
  func dump() async throws {
    let loop = try ThreadLoop(name: "dump-loop")
    let pool = try ThreadPool(name: "dump-pool", size: 1)
    let timers = TimerThread(name: "dump-timer")
    let release = Latch()
    let inside = Latch(5)
    @Sendable func stay() {
      inside.countDown()
      _ = release.wait()
    }
    _ = timers.schedule(at: .now) { inside.countDown() }
    loop.perform { stay() }
    try pool.execute { stay() }
    // The test polls until they are in the graph, since there is no event for it.
    let one = try ManagedThread.spawn(name: "dump-one") {
      #expect(WaitGraph.enter([loop.core]) == nil)
      stay()
      WaitGraph.leave()
    }
    let two = try ManagedThread.spawn(name: "dump-two") {
      #expect(WaitGraph.enter([one.core]) == nil)
      stay()
      WaitGraph.leave()
    }
    try #require(try await onThread { inside.wait() })
    loop.perform {}
    for _ in 0..<2 { try pool.execute {} }
    try loop.perform(after: .seconds(3600)) {}
    try timers.perform(after: .seconds(3600)) {}
    print(ThreadDump.text())
    #expect(
      lines(with: "dump-") == [
        "thread \"dump-loop\"",
        "thread \"dump-one\" waits for the end of loop \"dump-loop\", … so far",
        "thread \"dump-pool\"",
        "thread \"dump-timer\"",
        "thread \"dump-two\" waits for the end of thread \"dump-one\", … so far",
        "loop \"dump-loop\": 1 call, 1 timer, 0 sources, 0 descriptors",
        "pool \"dump-pool\": 1 thread, 0 idle, 2 tasks queued, 0 completed",
        "timer thread \"dump-timer\": 1 timer",
      ])
    release.countDown()
    for thread in [one, two] { try await thread.value() }
    loop.stop()
    try await loop.join()
    pool.dispose()
    timers.dispose()
    #expect(lines(with: "loop \"dump-").isEmpty && lines(with: "thread \"dump-one").isEmpty)
  }

  @Test("A cycle of joins with deadlines is reported")
  func cycle() async throws {
    let entered = Latch(2)
    let release = Latch()
    let known = Latch()
    let threads = LockedBox<[ManagedThread<Void, Never>]>([])
    for other in [1, 0] {
      let thread = try ManagedThread.spawn(name: "ring-\(1 - other)") {
        guard known.wait() else { return }
        let neighbour = threads.withLock { $0[other] }
        #expect(WaitGraph.enter([neighbour.core], counts: false) == nil)
        entered.countDown()
        _ = release.wait()
        WaitGraph.leave()
      }
      threads.withLock { $0.append(thread) }
    }
    known.countDown()
    try #require(try await onThread { entered.wait() })
    let links = ["the end of thread \"ring-0\"", "the end of thread \"ring-1\""]
    let cycles = lines(with: "cycle: thread \"ring-")
    #expect(
      cycles == ["cycle: thread \"ring-0\" waits for \(links[1]), which waits for \(links[0])"]
        || cycles == ["cycle: thread \"ring-1\" waits for \(links[0]), which waits for \(links[1])"])
    release.countDown()
    for thread in threads.withLock({ $0 }) { try await thread.value() }
    threads.withLock { $0 = [] }
  }

  @Test("A dump may be made while its subjects begin and end")
  func meanwhile() throws {
    try onThreads(2) { number in
      for round in 0..<1000 {
        if number == 0 {
          _ = ThreadDump.text()
        } else {
          _ = TimerThread(name: "brief")
          _ = try? ThreadPool(name: "brief", size: 1)
          if round % 100 == 0 { _ = try? ThreadLoop(name: "brief") }
        }
      }
    }
  }
}
