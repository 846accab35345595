import DequeModule
import HeadgateThreads

/// Runs tasks on the threads of a transport, between the turns that serve its sockets.
///
/// A job that is enqueued on one of these threads stays on it; any other goes to the first of them. A task is resumed where
/// its response came, and so it stays on the thread of the end-point that it asked last.
final class CurlTaskExecutor: TaskExecutor {
  private let loops: [CurlLoop]

  /// - Parameter loops: At least one.
  init(_ loops: [CurlLoop]) { self.loops = loops }

  func enqueue(_ job: consuming ExecutorJob) {
    let loop = loops.first { $0.isLoopThread } ?? loops[0]
    loop.accept(LoopJob(job: UnownedJob(job), executor: self))
  }

  func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }
}

/// A piece of a task, and the executor that took it: Swift's reference to that keeps nothing alive while the job runs.
struct LoopJob: Sendable {
  let job: UnownedJob
  let executor: CurlTaskExecutor

  func runHere() { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
}

extension CurlLoop {
  // Short enough that no socket waits long, and long enough that a look at the sockets costs next to nothing each.
  private static let mostJobs = 100

  /// Runs jobs that were ready before this turn of the loop. What they enqueue comes in a later turn, after a look at the
  /// sockets: jobs that enqueue jobs for ever keep no exchange waiting.
  ///
  /// Called outside of libcurl and of all deliveries, so that they may start and cancel exchanges.
  func runJobs() {
    guard !jobs.isEmpty else { return }
    withAutoreleasePool {
      for _ in 0..<min(jobs.count, Self.mostJobs) { jobs.popFirst()?.runHere() }
    }
  }

  /// Has the jobs that are left run elsewhere. Called at the loop's end, when no more can come.
  func handOverJobs() {
    while let job = jobs.popFirst() { job.job.runElsewhere() }
  }
}
