import CHeadgate
import Dispatch
import HeadgateThreads

/// Whether the process may have the threads that it needs.
///
/// Asked before the first of them is needed: libdispatch, which runs Swift's tasks, knows of no refusal. It asks the
/// system again once a second for as long as that says no, and the command would hang without a word.
enum ThreadSupply {
  /// One for each processor that the process may run on (tasks), and one each for signals, for libdispatch's own
  /// events, timers, the list, the network, and the output.
  static var needed: Int { max(1, Int(headgate_processors())) + 6 }

  /// Starts so many threads that all live at once, and ends them.
  ///
  /// - Parameter start: Starts a thread for a body that blocks.
  /// - Throws: ``FetchProblem`` when the system refuses one.
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
      "the system gives this process \(threads.count) threads beside its first one, and it needs \(count); raise the "
        + "limit on processes (ulimit -u, or the container's), or let other programs end")
  }
}
