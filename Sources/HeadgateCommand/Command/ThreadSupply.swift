import CHeadgate
import Dispatch
import HeadgateThreads

/// Checks whether the process can have the threads that it needs.
///
/// Checked before the first of them is needed, because libdispatch, which runs Swift's tasks, can't handle a refusal.
/// It tries again once a second for as long as the system refuses, and meanwhile the command would hang silently.
enum ThreadSupply {
  /// One thread for each processor that the process may use (tasks), and one each for signals, libdispatch's own
  /// events, timers, the list, the network, and the output.
  static var needed: Int { max(1, Int(headgate_processors())) + 6 }

  /// Starts the given number of threads, which all exist at the same time, and ends them.
  ///
  /// - Parameter start: Starts a thread with a body that blocks.
  /// - Throws: ``FetchProblem`` if the system refuses a thread.
  static func check(
    _ count: Int = needed,
    start: (@escaping @Sendable () -> Void) throws(ThreadError) -> WorkerThread = {
      body throws(ThreadError) in try WorkerThread(name: "headgate-check", body)
    }
  ) throws(FetchProblem) {
    let released = DispatchSemaphore(value: 0)
    var threads: [WorkerThread] = []
    var refusal: ThreadError?
    while threads.count < count, refusal == nil {
      do throws(ThreadError) { threads.append(try start { released.wait() }) } catch { refusal = error }
    }
    for _ in threads { released.signal() }
    for thread in threads { thread.join() }
    guard refusal != nil else { return }
    throw FetchProblem(
      "the system allows this process only \(threads.count) additional threads, and it needs \(count); raise the "
        + "limit on processes (ulimit -u, or that of the container), or end other programs")
  }
}
