/// A unit of work in a pool's queue.
// Unchecked: an entry passes from its submitter to the thread that runs or drops it under a lock of the pool. The
// captures of a closure came in as `sending`, so no other code reaches them.
enum PoolEntry: @unchecked Sendable {
  /// A task without a handle.
  case closure(Closure)
  /// A task with a handle.
  case job(PoolJob)
  /// A job of a Swift task, which must run somewhere.
  case executorJob(UnownedJob, PoolTaskExecutor)

  /// Whether both are the same task. Two submissions of the same closure are interchangeable.
  func isSame(as other: PoolEntry) -> Bool {
    switch (self, other) {
    case (.closure(let one), .closure(let another)): one.identity == another.identity
    case (.job(let one), .job(let another)): one === another
    case (.executorJob(let one, _), .executorJob(let another, _)):
      unsafeBitCast(one, to: UInt.self) == unsafeBitCast(another, to: UInt.self)
    default: false
    }
  }
}

extension Closure {
  // A closure is two words: its code and its context. While it lives, no other closure has the same two.
  fileprivate var identity: SIMD2<UInt> { unsafeBitCast(self, to: SIMD2<UInt>.self) }
}
