import CHeadgate

#if canImport(Dispatch)
import Dispatch
#endif

/// What the calling thread does for others: what stands still while it blocks, so that a wait for just that is refused.
///
/// A value, so that another thread may ask about the one that blocks.
// Unchecked: the references are compared and never followed.
package struct ThreadDuties: @unchecked Sendable {
  /// Whether it is what runs the main actor: the thread that the process began with, or whichever serves the main queue
  /// (on Linux, libdispatch ends the first thread of a program that hands it over, and serves that queue from others).
  package let isMain: Bool
  // Kept, so that the addresses can't become another's meanwhile.
  private let loop: LoopCore?
  // Pools have several workers; only one that has no other worker stands still with this one.
  private let pools: [PoolCore]

  /// The calling thread's.
  package static var current: ThreadDuties {
    var pools: [PoolCore] = []
    var frame = PoolFrame.current
    while let one = frame {
      if one.worker != nil, one.core.settings.size == 1 { pools.append(one.core) }
      frame = one.outer
    }
    return ThreadDuties(
      isMain: headgate_thread_is_main() != 0 || servesMainQueue, loop: LoopCore.ofThread, pools: pools)
  }

  #if canImport(Dispatch)
  private static let mainQueueKey = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  private static var servesMainQueue: Bool { DispatchQueue.getSpecific(key: mainQueueKey) == true }
  #else
  private static var servesMainQueue: Bool { false }
  #endif

  /// Whether it is the thread of this loop.
  package func include(_ loop: ThreadLoop) -> Bool { self.loop === loop.core }

  /// Whether it is the only thread that this pool may have.
  package func include(_ pool: ThreadPool) -> Bool { pools.contains { $0 === pool.core } }

  /// Whether it is the thread that runs this actor.
  package func include(_ actor: any Actor) -> Bool {
    let executor = actor.unownedExecutor
    return isMain && Self.isSame(executor, MainActor.sharedUnownedExecutor)
      || loop?.runs(executor) == true
  }

  /// Swift offers no comparison of executors before its newest systems; the two words are the executor's address and the
  /// table of its conformance.
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
