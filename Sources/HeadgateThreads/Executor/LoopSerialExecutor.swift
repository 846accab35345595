import CHeadgate

/// Runs actors on a loop's thread, one job after another, between the loop's other work.
///
///     actor Player {
///       private let loop: ThreadLoop
///       nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serialExecutor.asUnownedSerialExecutor() }
///     }
///
/// An actor keeps its loop (or this object) in a constant: Swift's reference to the executor keeps nothing alive. Jobs
/// run in the order in which they come, among the closures of `perform`; a job costs no allocation. Jobs must run: what
/// comes after the loop's stop runs on the global executor, still one at a time. A type of its own beside
/// ``LoopTaskExecutor``: one type that is both is slower in Swift's runtime (swift-platform-executors 9 and 11).
public final class LoopSerialExecutor: SerialExecutor {
  private let core: LoopCore

  init(_ core: LoopCore) { self.core = core }

  /// Takes a job. From any thread.
  public func enqueue(_ job: consuming ExecutorJob) { core.accept(UnownedJob(job), for: self) }

  /// The reference that an actor returns as its `unownedExecutor`.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  /// Stops the process unless the calling thread does this loop's work: what `assumeIsolated` asks.
  public func checkIsolated() {
    precondition(core.isCurrent, "not on the loop \"\(core.name)\"; go there with perform or performAndWait")
  }

  /// Whether the calling thread does this loop's work, so that `assumeIsolated` works in closures of `perform` too.
  public func isIsolatingCurrentContext() -> Bool? { core.isCurrent }

  // As the executor that took it: under another one the runtime would send it back for ever.
  func runHere(_ job: UnownedJob) { job.runSynchronously(on: asUnownedSerialExecutor()) }
}
