import HeadgateFlow
import HeadgateThreads

#if canImport(Dispatch)
import Dispatch
#endif

/// Where the calls to a delegate are made.
///
/// Calls of one operation are handed over one after another, so they keep their order on concurrent targets too. A
/// target that takes no more calls (a stopped loop, a pool that was disposed of or is full) ends the request: its
/// ``URLDispatchOperation/error`` is `deliveryFailed`, the log says so, and the delegate is not called elsewhere.
public struct DelegateTarget: Sendable {
  /// Where; nil: on the dispatcher's own pool.
  let delivery: Delivery?

  /// On the threads of the dispatcher's own pool: up to 8, started when needed, ended when idle. More delegates than
  /// that which take their time at once wait for each other there: give such ones a pool of their own.
  public static var ownPool: DelegateTarget { DelegateTarget(delivery: nil) }

  /// On a loop's thread.
  public static func loop(_ loop: ThreadLoop) -> DelegateTarget {
    DelegateTarget(delivery: .loop(loop))
  }

  /// On a pool's threads. If its queue is full, nobody waits for room: the request ends.
  public static func pool(_ pool: ThreadPool) -> DelegateTarget {
    DelegateTarget(delivery: .pool(pool))
  }

  #if canImport(Dispatch)
  /// On a dispatch queue, serial or concurrent.
  public static func queue(_ queue: DispatchQueue) -> DelegateTarget {
    DelegateTarget(delivery: .queue(queue))
  }
  #endif

  /// In tasks on a task executor, one after another.
  public static func executor(_ executor: any TaskExecutor) -> DelegateTarget {
    .submitting { call in Task(executorPreference: executor) { call() } }
  }

  /// Through anything that takes a closure and calls it later.
  ///
  /// - Parameter submit: Called on the thread that brings the news, most often the transport's; it must not wait. If it
  ///   throws, or lets go of the closure without a call, the target takes no more calls.
  public static func submitting(
    _ submit: @escaping @Sendable (@escaping @Sendable () -> Void) throws -> Void
  ) -> DelegateTarget {
    DelegateTarget(delivery: .submitting(submit))
  }
}
