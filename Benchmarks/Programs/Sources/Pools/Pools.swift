import HeadgateThreads
import Measure

/// Empty tasks in a pool, submitted by one thread: `Pools execute|submit THREADS SECONDS`. `execute` is not notified of
/// the tasks' ends; `submit` keeps a handle for each task and waits for all of them.
@main
struct PoolsBenchmark {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let threads = Int(arguments[2]), let seconds = Double(arguments[3]), threads > 0,
      seconds > 0
    else {
      complain("usage: \(arguments[0]) execute|submit THREADS SECONDS")
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
    default: complain("a pool is measured with execute or submit")
    }
    pool.dispose()
  }
}
