#if AsyncHTTPClient
import NIOCore

/// Runs the tasks of exchanges on the event loop that has their sockets, so that nothing hops between threads on its way.
final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
#endif
