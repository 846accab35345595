import Dispatch
import HeadgateThreads
import Measure

/// The cost of a thread: spawn and join together; the time from the call to the body's first instruction; the memory of
/// a thread that only waits; the default stack: `ThreadCosts COUNT IDLE`. The peers' C/threads.c is the same for
/// pthread_create.
@main
struct ThreadCostsBenchmark {
  static func main() throws {
    let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
    guard numbers.count == 2, numbers[0] > 0, numbers[1] > 0 else { complain("usage: ThreadCosts COUNT IDLE") }
    let count = numbers[0]
    // The idle threads come first: the stacks that the system keeps from ended threads would hide their memory.
    let (bytes, stack) = try idleThreads(numbers[1])
    for _ in 0..<(count / 10) { _ = try startDelay() }
    var delays: [Int] = []
    delays.reserveCapacity(count)
    let before = Usage.now
    for _ in 0..<count { delays.append(try startDelay()) }
    let used = Usage.now.since(before)
    delays.sort()
    printFigures(
      "headgate", operations: count, used: used,
      [
        ("rate", Double(count) / used.seconds / 1e6), ("spawn_join_us", used.seconds / Double(count) * 1e6),
        ("start_mean_us", Double(delays.reduce(0, +)) / Double(count) / 1e3),
        ("start_median_us", Double(delays[count / 2]) / 1e3), ("idle_bytes", Double(bytes)),
        ("stack_bytes", Double(stack)),
      ])
  }

  /// Spawns and joins one thread, and returns the nanoseconds from the call to its first instruction.
  static func startDelay() throws -> Int {
    let called = monotonicNanoseconds()
    return try ManagedThread.spawn { monotonicNanoseconds() }.join() - called
  }

  /// The memory of each of `count` threads that wait in `park`, and the size of a stack.
  static func idleThreads(_ count: Int) throws -> (bytes: Int, stack: Int) {
    let waiting = DispatchSemaphore(value: 0)
    var threads: [ManagedThread<Void, WaitError>] = []
    threads.reserveCapacity(count)
    let before = residentBytes()
    for _ in 0..<count {
      threads.append(
        try ManagedThread.spawn { () throws(WaitError) in
          waiting.signal()
          try ManagedThread.park()
        })
    }
    for _ in 0..<count { waiting.wait() }
    let bytes = (residentBytes() - before) / count
    let stack = threads.first?.stackSize ?? 0
    for thread in threads { thread.unpark() }
    for thread in threads { try thread.join() }
    return (bytes, stack)
  }
}
