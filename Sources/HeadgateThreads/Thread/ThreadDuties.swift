import CHeadgate
import Dispatch

/// The executors that make no progress while a thread is blocked. Waiting for one of them on that thread would
/// deadlock, so such a wait is refused.
///
/// It is a value, so that another thread can query it for the thread that blocks.
// Unchecked: the references are only compared, never followed.
package struct ThreadDuties: @unchecked Sendable {
  /// Whether the thread runs the main actor: the process's initial thread, or the thread that currently serves the main
  /// queue. (On Linux, when a program calls `dispatchMain`, libdispatch ends the initial thread and serves the main
  /// queue from others.)
  package let isMain: Bool
  // Retained, so that the addresses cannot be reused by other objects.
  private let loop: LoopCore?
  // Only pools of one thread, which make no progress while this thread is blocked.
  private let pools: [PoolCore]

  /// The calling thread's duties.
  package static var current: ThreadDuties {
    var pools: [PoolCore] = []
    var frame = PoolFrame.current
    while let one = frame {
      if one.worker != nil, one.core.size == 1 { pools.append(one.core) }
      frame = one.outer
    }
    return ThreadDuties(
      isMain: headgate_thread_is_main() != 0 || servesMainQueue, loop: LoopCore.ofThread, pools: pools)
  }

  private static let mainQueueKey = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  private static var servesMainQueue: Bool { DispatchQueue.getSpecific(key: mainQueueKey) == true }

  /// Whether the thread runs this loop.
  package func include(_ loop: ThreadLoop) -> Bool { self.loop === loop.core }

  /// Whether the thread is the only one that this pool can have.
  package func include(_ pool: ThreadPool) -> Bool { pools.contains { $0 === pool.core } }

  /// Whether the thread runs this actor.
  package func include(_ actor: any Actor) -> Bool {
    let executor = actor.unownedExecutor
    return isMain && Self.isSame(executor, MainActor.sharedUnownedExecutor)
      || loop?.runs(executor) == true
  }

  /// Swift's runtime on older systems cannot compare executors. The two words are the executor's address and its
  /// witness table.
  fileprivate static func isSame(_ one: UnownedSerialExecutor, _ other: UnownedSerialExecutor) -> Bool {
    // Unsafe: a frozen struct of two plain words.
    unsafeBitCast(one, to: (UInt, UInt).self).0 == unsafeBitCast(other, to: (UInt, UInt).self).0
  }
}

extension LoopCore {
  fileprivate func runs(_ executor: UnownedSerialExecutor) -> Bool {
    guard let serial = facade?.serialExecutor else { return false }
    return ThreadDuties.isSame(executor, serial.asUnownedSerialExecutor())
  }
}
