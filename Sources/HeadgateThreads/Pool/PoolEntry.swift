/// One thing that a pool has to run.
// Unchecked: an entry goes from who submits it to the one who runs or drops it, through the lock of the pool's core; what
// a closure captured came in as `sending`, so that nobody else reaches it.
package enum PoolEntry: @unchecked Sendable {
  /// A task without a handle.
  case closure(PoolClosure)
  /// A task that somebody can ask for.
  case job(PoolJob)
  /// A piece of a Swift task, which must run somewhere.
  case executorJob(UnownedJob, PoolTaskExecutor)

  /// Whether both are the same task, or the same closure, which may stand for each other.
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

/// A closure in a struct: a bare function type in raw memory is miscompiled in release builds (Swift 6.3).
package struct PoolClosure {
  package let call: () throws -> Void

  package init(_ call: @escaping () throws -> Void) { self.call = call }

  // A closure is two words, its code and what it captured; while it lives, nothing else has the same two.
  fileprivate var identity: SIMD2<UInt> { unsafeBitCast(self, to: SIMD2<UInt>.self) }
}
