import Exploring
import Synchronization
import Testing

@testable import HeadgateThreads

extension Explorations {
  /// Pools whose size changes, by a call or to replace a blocked worker, in every interleaving up to the bound.
  @Suite struct PoolResizeExplorationTests {
    /// The operations of a script's threads on a pool.
    private typealias Steps = @Sendable (ThreadPool, Runs) -> Void

    /// How often each task ran.
    private final class Runs: Sendable {
      private let counts = Mutex<[Int: Int]>([:])

      var all: [Int: Int] { counts.withLock { $0 } }

      func add(_ number: Int) { counts.withLock { $0[number, default: 0] += 1 } }
    }

    private func explore(
      _ name: String, size: Int, bound: Int? = nil, stackSize: Int = 0, detours: Int = 2, runs expected: [Int: Int],
      _ threads: [Steps]
    ) throws {
      let usual = Explorer.usualBound
      let count = try Explorer(preemptions: usual, detours: detours).explore(name) {
        var settings = PoolCore.Settings(name: "explored", size: size)
        settings.idleTime = .seconds(Int64.max)
        settings.bound = bound
        settings.stackSize = stackSize
        settings.spawn = { _, _, body in Run.current?.start(body) }
        guard let pool = try? ThreadPool(settings) else { return Explorer.Script(threads: []) { "no pool" } }
        let runs = Runs()
        return Explorer.Script(threads: threads.map { steps in { @Sendable in steps(pool, runs) } }) {
          let numbers = pool.statistics
          if numbers.threads != 0 || numbers.queued != 0 { return "left: \(numbers)" }
          let hasEnded = pool.core.ended.withLock { $0.count == 0 }
          if !hasEnded || !pool.core.state.withLock({ $0.isLineEmpty && $0.roster.blocked == 0 }) {
            return "not over"
          }
          return runs.all == expected ? nil : "ran \(runs.all)"
        }
      }
      #expect(count > 5)
    }

    @Test("P50 in no interleaving is a task lost to a worker that ends because the pool became smaller")
    func shrinks() throws {
      try explore(
        "smaller", size: 2, detours: 1, runs: [1: 1, 2: 1, 3: 1],
        [
          { pool, runs in
            let first = try? pool.submit { runs.add(1) }
            let second = try? pool.submit { runs.add(2) }
            _ = try? second?.wait()
            _ = try? first?.wait()
            try? pool.setSize(1)
            try? pool.execute { runs.add(3) }
            pool.dispose()
          }
        ])
    }

    @Test("P50 a larger size starts a thread for a task that waits behind another one that waits for it")
    func grows() throws {
      try explore(
        "larger", size: 1, runs: [1: 1, 2: 1],
        [
          { pool, runs in
            // Opened by the second task, which needs another thread.
            let gate = Parker()
            try? pool.execute {
              runs.add(1)
              _ = gate.park()
            }
            try? pool.execute {
              runs.add(2)
              gate.unpark()
            }
            pool.dispose()
          }, { pool, _ in try? pool.setSize(2) },
        ])
    }

    @Test("P50 a worker that takes a task wakes another one for the next task, which the first task waits for")
    func spreads() throws {
      try explore(
        "a task waits for the next", size: 2, detours: 1, runs: [1: 1, 2: 1, 3: 1, 4: 1],
        [
          { pool, runs in
            let first = try? pool.submit { runs.add(1) }
            let second = try? pool.submit { runs.add(2) }
            _ = try? second?.wait()
            _ = try? first?.wait()
            let gate = Parker()
            let third = try? pool.submit {
              runs.add(3)
              _ = gate.park()
            }
            try? pool.execute {
              runs.add(4)
              gate.unpark()
            }
            _ = try? third?.wait()
            pool.dispose()
          }
        ])
    }

    @Test("P57 a larger size admits submitters that wait for room")
    func room() throws {
      try explore(
        "larger with one that waits", size: 1, bound: 0, runs: [1: 1, 2: 1],
        [
          { pool, runs in
            let gate = Parker()
            try? pool.execute {
              runs.add(1)
              _ = gate.park()
            }
            try? pool.execute {
              runs.add(2)
              gate.unpark()
            }
            pool.dispose()
          }, { pool, _ in try? pool.setSize(2) },
        ])
    }

    @Test(
      "P57 submitters that wait for room are notified at once that the pool is disposed of, even if tasks still run")
    func refusal() throws {
      try explore(
        "a task waits for one that is refused", size: 1, bound: 0, runs: [:],
        [
          { pool, _ in
            let gate = Parker()
            try? pool.execute { _ = gate.park() }
            try? pool.execute {}
            gate.unpark()
          }, { pool, _ in pool.dispose() },
        ])
    }

    @Test("P54 a task that lacks the stack to help has another thread run the task that it waits for")
    func standsIn() throws {
      try explore(
        "no stack left", size: 1, stackSize: 2, runs: [1: 1, 2: 1, 3: 1],
        [
          { pool, runs in
            let first = try? pool.submit {
              runs.add(1)
              let second = try? pool.submit { runs.add(2) }
              _ = try? second?.wait()
            }
            _ = try? first?.wait()
            try? pool.execute { runs.add(3) }
            pool.dispose()
          }
        ])
    }
  }
}
