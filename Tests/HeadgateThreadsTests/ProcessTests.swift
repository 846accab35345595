#if canImport(Glibc)
import Glibc
import HeadgateThreads
import Testing

/// The effect of the library's threads on their process.
@Suite struct ProcessTests {
  /// A pool, a loop, a timer thread and a queue with a waiter.
  final class Household: Sendable {
    let pool: ThreadPool
    let loop: ThreadLoop
    let timers = TimerThread(name: "test-timer")
    let queue = BlockingQueue<Int>()

    init() throws {
      pool = try ThreadPool(name: "test-pool", size: 2)
      loop = try ThreadLoop(name: "test-loop")
      let queue = queue
      _ = try ManagedThread.spawnDetached(ThreadAttributes(name: "test-taker")) {
        while true { _ = try queue.take() }
      }
    }

    /// Returns false if one of them does not work.
    func works() throws -> Bool {
      let all = Latch(3)
      try pool.execute { all.countDown() }
      try timers.perform(after: .zero) { all.countDown() }
      guard loop.perform({ all.countDown() }) else { return false }
      try queue.put(1)
      return all.wait()
    }
  }

  static let household = try? Household()

  @Test("P100 a child process started beside the library's threads runs, and the threads continue")
  func child() async {
    await #expect(processExitsWith: .success) {
      let isFine = try await onThread {
        let household = try Household()
        guard try household.works() else { return false }
        for code in Int32(0)..<3 {
          var child = pid_t()
          let command: [String] = ["sh", "-c", "exit \(code)"]
          var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) }
          words.append(nil)
          defer { for word in words { free(word) } }
          guard posix_spawn(&child, "/bin/sh", nil, nil, &words, nil) == 0 else { return false }
          var status: Int32 = 0
          guard waitpid(child, &status, 0) == child, status == code << 8 else { return false }
          guard try household.works() else { return false }
        }
        return true
      }
      exit(isFine ? 0 : 1)
    }
  }

  @Test("P101 a process exits while the library's threads live, and its exit handlers may use them")
  func exits() async {
    await #expect(processExitsWith: .exitCode(7)) {
      guard try await onThread({ try ProcessTests.household?.works() ?? false }) else { exit(1) }
      atexit {
        // The last call. After any failure the exit status is different.
        let isFine = try? inThread { try ProcessTests.household?.works() ?? false }
        if isFine != true { _exit(2) }
      }
      exit(7)
    }
  }
}
#endif
