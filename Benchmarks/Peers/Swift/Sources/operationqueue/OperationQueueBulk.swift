// Foundation's OperationQueue as a limiter of each end-point: two threads submit N empty operations (first argument,
// default 1,000,000), each of them round-robin to 50 queues that run at most 6 at once.
import Foundation
import Measure

@main
struct OperationQueueBulk {
  static func main() {
    let operations = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1]) ?? 0 : 1_000_000
    guard operations > 0 else { complain("usage: \(CommandLine.arguments[0]) [OPERATIONS]") }
    let submitters = 2
    // Each submitter has its own, created one after the other.
    let queues = (0..<submitters).map { _ in
      (0..<100 / submitters).map { _ in
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 6
        return queue
      }
    }
    let submitted = DispatchGroup()
    let meter = Meter()
    for submitter in 0..<submitters {
      submitted.enter()
      Thread.detachNewThread {
        let own = queues[submitter]
        for number in 0..<operations / submitters { own[number % own.count].addOperation(BlockOperation {}) }
        submitted.leave()
      }
    }
    submitted.wait()
    for queue in queues.joined() { queue.waitUntilAllOperationsAreFinished() }
    meter.report(client: "operationqueue", count: ("operations", operations))
  }
}
