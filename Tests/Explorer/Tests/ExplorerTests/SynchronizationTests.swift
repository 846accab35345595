import Exploring
import HeadgateThreads
import Programs
import Testing

extension Explorations {
  /// The primitives of every wait, in every interleaving: no wake-up is lost, and data that is passed on is visible.
  @Suite struct SynchronizationTests {
    static let scripts: [ProgramScript] = [
      .init("two take the lock") { .lock(threads: 2, times: 2) },
      .init("three take the lock", wakeUps: 1) { .lock(threads: 3, times: 1) },
      .init("a token is handed over", wakeUps: 2) { .parker() },
      .init("a token comes as the deadline passes", wakeUps: 1) { .parkerInTime() },
      .init("a line in which one gives up") { .line() },
      .init("two lines") { .twoLines() },
      .init("a waiter ends once") { .waiter { _ in } },
      .init("a task waits", task: false),
      .init("a task waits and is cancelled", task: true),
    ]

    @Test("in every interleaving the lock, the parker and the waiters lose no wake-up", arguments: scripts.indices)
    func holds(index: Int) throws {
      #expect(try Self.scripts[index].explore() > 5, "\(Self.scripts[index].name)")
    }

    @Test("each way for a waiter to end occurs in one of its interleavings")
    func outcomes() throws {
      let outcomes = Outcomes<UInt8>()
      try Explorer().explore { Explorer.Script(.waiter(outcomes.add)) }
      #expect(outcomes.seen == [1, 2, 3])
    }
  }
}

/// A program with its bounds: small, so that it is explored with one preemption more than the others.
struct ProgramScript: Sendable {
  let name: String
  private let wakeUps: Int
  private let make: @Sendable () -> Explorer.Script

  init(_ name: String, wakeUps: Int = 0, _ make: @escaping @Sendable () -> Program) {
    self.name = name
    self.wakeUps = wakeUps
    self.make = { Explorer.Script(make()) }
  }

  /// One task that waits for a permit, one thread that releases it, and one that cancels the task.
  init(_ name: String, task isCancelled: Bool) {
    self.name = name
    wakeUps = 0
    make = {
      let (take, give, verdict) = Program.task(isCancelled: isCancelled)
      let starter: @Sendable () -> Void = {
        let task = Run.current?.task(take)
        if isCancelled { Run.current?.start { task?.cancel() } }
      }
      return Explorer.Script(threads: [starter, give], verdict: verdict)
    }
  }

  func explore() throws(Explorer.Failure) -> Int {
    try Explorer(preemptions: Explorer.usualBound + 1, wakeUps: wakeUps).explore(name, make)
  }
}
