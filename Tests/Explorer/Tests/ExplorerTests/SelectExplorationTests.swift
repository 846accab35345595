import Exploring
import Synchronization
import Testing

@testable import HeadgateThreads

extension Explorations {
  /// Selects that put and take, batches, counts and ordered queues, in every interleaving up to the bound: none hangs,
  /// and the elements put are the elements taken.
  @Suite struct SelectExplorationTests {
    /// The elements that the threads of a script got.
    private final class Got: Sendable {
      private let values = Mutex<[Int]>([])
      var all: [Int] { values.withLock { $0.sorted() } }
      func add(_ value: Int) { values.withLock { $0.append(value) } }
      func add(_ value: Int?) { if let value { add(value) } }
    }

    private static func explore(
      _ name: String, detours: Int = .max,
      _ make: () throws -> (threads: [@Sendable () -> Void], verdict: () -> String?)
    ) throws -> Int {
      try Explorer(preemptions: Explorer.usualBound, detours: detours).explore(name) {
        // The capacities are not external data. The same case is tried first in each run.
        while firstToSelect(of: 2) != 1 {}
        guard let script = try? make() else { return Explorer.Script(threads: []) { "not made" } }
        return Explorer.Script(threads: script.threads, verdict: script.verdict)
      }
    }

    @Test("P21 a count is consistent at one moment, during alternating puts and takes")
    func count() throws {
      let runs = try Self.explore("a count beside puts and takes") {
        let queue = try BlockingQueue<Int>(capacity: 8)
        let got = Got()
        return (
          [
            {
              for value in 0..<3 {
                try? queue.put(value) as Void
                _ = try? queue.tryTake()
              }
            },
            { got.add(queue.count) },
          ], { got.all.allSatisfy { $0 <= 1 } ? nil : "a count of \(got.all)" }
        )
      }
      #expect(runs > 5)
    }

    @Test("Two crossing selects, each the other's partner at two queues, exchange one element", arguments: [0, 1])
    func crossing(capacity: Int) throws {
      let runs = try Self.explore("selects that cross") {
        let queues = try (0..<2).map { _ in try BlockingQueue<Int>(capacity: capacity) }
        let got = Got()
        return (
          [
            { got.add(try? select(queues[0].onTake { $0 }, queues[1].onPut(1) { 10 })) },
            { got.add(try? select(queues[1].onTake { $0 }, queues[0].onPut(2) { 20 })) },
          ],
          {
            let left = queues.flatMap { $0.drain() }
            let isRight =
              left.isEmpty && (got.all == [1, 10] || got.all == [2, 20]) || capacity == 1 && got.all == [10, 20]
            return isRight ? nil : "got \(got.all), left \(left)"
          }
        )
      }
      #expect(runs > 5)
    }

    @Test("P11 a place that a select does not use goes to the next putter")
    func places() throws {
      let runs = try Self.explore("a select that puts, beside a putter", detours: 3) {
        let full = try BlockingQueue<Int>(capacity: 1)
        try full.put(0)
        let other = BlockingQueue<Int>()
        let got = Got()
        return (
          [
            { got.add(try? select(full.onPut(1) { 10 }, other.onTake { $0 })) },
            { try? full.put(2) as Void },
            {
              try? other.put(5) as Void
              got.add(try? full.take())
              // The putter has its place now, whether the select put or took before.
              got.add(try? full.take())
            },
          ], { got.all.contains(0) && got.all.count == 3 ? nil : "got \(got.all)" }
        )
      }
      #expect(runs > 5)
    }

    @Test("Batches on both sides of a queue with a smaller capacity than either")
    func batches() throws {
      let runs = try Self.explore("batches", detours: 3) {
        let queue = try BlockingQueue<Int>(capacity: 2)
        let got = Got()
        let take: @Sendable () -> Void = {
          for value in (try? queue.take(upTo: 2)) ?? [] { got.add(value) }
        }
        return (
          [{ try? queue.put(contentsOf: [1, 2, 3]) }, take, take],
          {
            for value in queue.drain() { got.add(value) }
            return got.all == [1, 2, 3] ? nil : "got \(got.all)"
          }
        )
      }
      #expect(runs > 5)
    }

    @Test("A batch wakes as many takers as it has elements")
    func batchForTwo() throws {
      let runs = try Self.explore("a batch for two takers") {
        let queue = BlockingQueue<Int>()
        let got = Got()
        let take: @Sendable () -> Void = { got.add(try? queue.take()) }
        return (
          [take, take, { try? queue.put(contentsOf: [1, 2]) }],
          { got.all == [1, 2] ? nil : "got \(got.all)" }
        )
      }
      #expect(runs > 5)
    }

    @Test("P11 P27 an ordered queue: a taker that may time out passes on the wake-up that it got")
    func ordered() throws {
      let runs = try Self.explore("an ordered queue") {
        let queue = try PriorityBlockingQueue<Int, Int>(capacity: 1)
        let got = Got()
        return (
          [
            { got.add(try? queue.take(until: .now + .milliseconds(1))) },
            { got.add(try? queue.take()) },
            {
              for value in 1...2 { try? queue.put(value, priority: value) as Void }
              queue.close()
            },
          ],
          {
            for value in queue.drain() { got.add(value) }
            return got.all == [1, 2] ? nil : "got \(got.all)"
          }
        )
      }
      #expect(runs > 5)
    }

    @Test(
      "A close during a put by a select: the element is in the queue, or the select is notified", arguments: [0, 1])
    func closed(capacity: Int) throws {
      let runs = try Self.explore("a select that puts, and a close") {
        let queue = try BlockingQueue<Int>(capacity: capacity)
        let got = Got()
        return (
          [
            { if (try? select(queue.onPut(1) { 0 })) == nil { got.add(1) } },
            { queue.close() },
            { got.add(try? queue.tryTake()) },
          ],
          {
            for value in queue.drain() { got.add(value) }
            return got.all == [1] ? nil : "got \(got.all)"
          }
        )
      }
      #expect(runs > 5)
    }
  }
}
