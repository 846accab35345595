import CHeadgate

/// Runs actors on a loop's thread, one job at a time, interleaved with the loop's other work.
///
///     actor Player {
///       private let loop: ThreadLoop
///       nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serialExecutor.asUnownedSerialExecutor() }
///     }
///
/// Store the loop (or this object) in a constant of the actor: Swift's reference to the executor is unowned. Jobs run
/// in FIFO order together with the closures of `perform`. A job costs no allocation. Since jobs must run, those that
/// arrive after the loop has stopped run on the global executor, still one at a time. This type is separate from
/// ``LoopTaskExecutor`` because Swift's runtime handles a type that conforms to both protocols more slowly
/// (swift-platform-executors 9 and 11).
public final class LoopSerialExecutor: SerialExecutor {
  private let core: LoopCore

  init(_ core: LoopCore) { self.core = core }

  /// Accepts a job. Can be called from any thread.
  public func enqueue(_ job: consuming ExecutorJob) { core.accept(UnownedJob(job), for: self) }

  /// The reference that an actor returns as its `unownedExecutor`.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  /// Traps unless the calling thread is doing this loop's work. `assumeIsolated` uses it.
  public func checkIsolated() {
    precondition(core.isCurrent, "not on the loop \"\(core.name)\"; use perform or performAndWait")
  }

  /// Whether the calling thread is doing this loop's work, so that `assumeIsolated` also works in closures of
  /// `perform`.
  public func isIsolatingCurrentContext() -> Bool? { core.isCurrent }

  // Must run as the executor that accepted the job. Under another one the runtime would enqueue it again, forever.
  func runHere(_ job: UnownedJob) { job.runSynchronously(on: asUnownedSerialExecutor()) }
}
