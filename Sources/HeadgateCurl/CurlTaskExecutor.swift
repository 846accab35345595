import DequeModule
import HeadgateThreads

/// Runs tasks on a transport's threads, between the turns that serve its sockets.
///
/// A job enqueued on one of these threads stays there; others go to the first thread. A task resumes where its
/// response arrived, so it stays on the thread of the end-point that it used last.
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

/// A job and its executor. Swift's unowned reference does not keep the executor alive while the job runs.
struct LoopJob: Sendable {
  let job: UnownedJob
  let executor: CurlTaskExecutor

  func runHere() { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
}

extension CurlLoop {
  // Few enough that no socket waits long, and enough that checking the sockets costs almost nothing for each job.
  private static let mostJobs = 100

  /// Runs the jobs that were ready before this turn. Jobs that they enqueue run in a later turn, after a look at the
  /// sockets, so that jobs can't starve the exchanges.
  ///
  /// Called outside of libcurl and of all deliveries, so that jobs may start and cancel exchanges.
  func runJobs() {
    guard !jobs.isEmpty else { return }
    withAutoreleasePool {
      for _ in 0..<min(jobs.count, Self.mostJobs) { jobs.popFirst()?.runHere() }
    }
  }

  /// Moves the remaining jobs to the global executor. Called at the loop's end, when no more can come.
  func handOverJobs() {
    while let job = jobs.popFirst() { job.job.runElsewhere() }
  }
}
