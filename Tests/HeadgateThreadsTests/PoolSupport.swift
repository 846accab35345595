import Synchronization
import Testing

@testable import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Runs `body` on a separate thread, where it may block, and waits for it.
func inThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
  let result = Locked<Result<Value, any Error>?>(nil)
  let done = Latch()
  _ = try WorkerThread(name: "test-caller") {
    let value = Result { try body() }
    result.withLock { $0 = value }
    done.countDown()
  }
  try #require(done.wait(), "the thread did not come to its end")
  return try #require(result.withLock { $0 }).get()
}

/// Keeps all threads of a pool busy until it is opened.
final class Plug: Sendable {
  private let inside: Latch
  private let release = Latch()
  private let tasks: [PoolTask<Void, Never>]

  /// Returns when all threads are busy.
  init(_ pool: ThreadPool, threads: Int) throws {
    let (inside, release) = (Latch(threads), release)
    self.inside = inside
    tasks = try (0..<threads).map { _ in
      try pool.submit {
        inside.countDown()
        _ = release.wait()
      }
    }
    try #require(inside.wait(), "the pool did not start its threads")
  }

  func open() { release.countDown() }

  /// Returns when its tasks have ended.
  func wait() throws {
    try inThread { [tasks] in for task in tasks { try task.wait(until: .after(generous)) } }
  }
}

/// Counts arrivals, and lets threads wait for a number of them.
final class Arrivals: Sendable {
  private struct State {
    var count = 0
    var waiting: [(count: Int, latch: Latch)] = []
  }

  private let state = Locked(State())

  var count: Int { state.withLock { $0.count } }

  func add() {
    let latches = state.withLock { state in
      state.count += 1
      let count = state.count
      defer { state.waiting.removeAll { $0.count <= count } }
      return state.waiting.filter { $0.count <= count }.map(\.latch)
    }
    for latch in latches { latch.countDown() }
  }

  /// Returns true once this many have arrived, or false if they did not within a minute.
  func wait(for count: Int) -> Bool {
    let latch = Latch()
    let isThere = state.withLock { state in
      if state.count < count { state.waiting.append((count, latch)) }
      return state.count >= count
    }
    return isThere || latch.wait()
  }
}

extension ThreadPool {
  /// A bounded pool that reports each submitter that joins the line for room.
  static func lining(
    _ size: Int, bound: Int, _ policy: FullQueuePolicy = .block
  ) throws -> (pool: ThreadPool, line: Arrivals) {
    let line = Arrivals()
    var settings = PoolCore.Settings(name: "test-pool", size: size)
    settings.bound = bound
    settings.policy = policy
    settings.submitterWaits = { line.add() }
    return (try ThreadPool(settings), line)
  }

  /// Runs the remaining tasks, and returns when everything has ended.
  func finish() throws {
    dispose()
    try inThread { try self.waitUntilDisposed(until: .after(generous)) }
  }
}

extension ThreadPool {
  /// How many entries of its queue belong to tasks that have ended or begun elsewhere.
  var stale: Int { core.outlet.stale.load(ordering: .relaxed) }
}

struct Oops: Error, Equatable {
  var number = 0
}

/// Polls a condition, for the few cases without an event to wait for. Returns false after a minute.
func looks(until condition: () -> Bool) -> Bool {
  let limit = Deadline.after(generous)
  while !condition() {
    if limit <= .now { return false }
    sched_yield()
  }
  return true
}

/// A count that closures share.
final class Tally: Sendable {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }

  func add(_ number: Int = 1) { count.add(number, ordering: .relaxed) }
}
