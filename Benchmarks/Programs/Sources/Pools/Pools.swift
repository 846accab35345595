import HeadgateThreads
import Measure

/// Empty tasks in a pool, submitted by one thread: `Pools execute|submit|wait|beside|perform THREADS SECONDS`. `execute` is
/// not notified of the tasks' ends; `submit` keeps a handle for each task and waits for all of them. `wait` waits for each
/// task before it submits the next one, and `beside` does so while one thread of the pool is blocked. `perform` is one
/// loop over all numbers.
@main
struct PoolsBenchmark {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let threads = Int(arguments[2]), let seconds = Double(arguments[3]), threads > 0,
      seconds > 0
    else {
      complain("usage: \(arguments[0]) execute|submit|wait|beside|perform THREADS SECONDS")
    }
    let pool = try ThreadPool(name: "bench", size: threads)
    switch arguments[1] {
    case "execute":
      try measure("headgate", seconds: seconds) { operations in
        try TaskSum.run(operations) { number in try pool.execute { TaskSum.add(number) } }
      }
    case "submit":
      try measure("headgate-submit", seconds: seconds) { operations in
        var handles: [PoolTask<Void, Never>] = []
        handles.reserveCapacity(operations)
        try TaskSum.run(operations) { number in handles.append(try pool.submit { TaskSum.add(number) }) }
        for handle in handles { try handle.wait() }
      }
    case "wait": try wait(in: pool, "headgate-wait", seconds)
    case "beside" where threads > 1:
      let isOver = Latch()
      try pool.execute { try isOver.wait() }
      try wait(in: pool, "headgate-beside", seconds)
      isOver.countDown()
    case "perform":
      measure("headgate-perform", seconds: seconds) { operations in
        TaskSum.run(operations) { number in
          if number == 1 { pool.concurrentPerform(operations) { TaskSum.add($0 + 1) } }
        }
      }
    default: complain("a pool is measured with execute, submit, wait, beside (from two threads on) or perform")
    }
    pool.dispose()
  }

  private static func wait(in pool: ThreadPool, _ name: String, _ seconds: Double) throws {
    try measure(name, seconds: seconds) { operations in
      try TaskSum.run(operations) { number in try pool.submit { TaskSum.add(number) }.wait() }
    }
  }
}
