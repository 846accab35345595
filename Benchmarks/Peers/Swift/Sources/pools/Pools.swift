// Empty tasks in Swift's other pools: NIOThreadPool, and libdispatch's global queue, which has a thread for each
// processor; that number can't be set. `pools nio|dispatch THREADS SECONDS`.
import Dispatch
import Measure
import NIOPosix

@main
struct Pools {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let threads = Int(arguments[2]), let seconds = Double(arguments[3]), threads > 0 else {
      complain("usage: \(arguments[0]) nio|dispatch THREADS SECONDS")
    }
    switch arguments[1] {
    case "nio":
      let pool = NIOThreadPool(numberOfThreads: threads)
      pool.start()
      measure("nio", seconds: seconds) { operations in
        TaskSum.run(operations) { number in pool.submit { _ in TaskSum.add(number) } }
      }
    case "dispatch":
      let queue = DispatchQueue.global()
      measure("dispatch", seconds: seconds) { operations in
        TaskSum.run(operations) { number in queue.async { TaskSum.add(number) } }
      }
    default: complain("a pool is nio or dispatch")
    }
  }
}
