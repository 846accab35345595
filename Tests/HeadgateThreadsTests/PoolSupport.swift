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

/// Runs `body` on a thread of its own, where it may block, and waits for it.
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

extension ThreadPool {
  /// Runs what is left, and returns when all is over.
  func finish() throws {
    dispose()
    try inThread { try self.waitUntilDisposed(until: .after(generous)) }
  }
}

struct Oops: Error, Equatable {
  var number = 0
}

/// Lets others run, for the few places where nothing tells of what a test waits for.
func yieldThread() { sched_yield() }

/// A count that closures share.
final class Tally: Sendable {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }

  func add() { count.add(1, ordering: .relaxed) }
}
