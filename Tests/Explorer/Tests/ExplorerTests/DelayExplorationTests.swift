import Exploring
import HeadgateThreads
import Synchronization
import Testing

extension Explorations {
  /// Queues of elements with due times, in every interleaving up to the bound: the role of the leader passes from one
  /// taker to the next, and none keeps sleeping.
  @Suite struct DelayExplorationTests {
    /// A queue and the elements taken from it.
    private final class Taken: Sendable {
      let queue = DelayQueue<Int>()
      private let values = Mutex<[Int]>([])
      var all: [Int] { values.withLock { $0.sorted() } }

      @Sendable func take() {
        guard let value = try? queue.take() else { return }
        values.withLock { $0.append(value) }
      }

      func put(_ value: Int) { try? queue.put(value, due: .distantPast + .milliseconds(value)) as Void }
    }

    private func explore(
      _ name: String, taken expected: [Int], _ threads: (Taken) -> [@Sendable () -> Void]
    ) throws {
      let runs = try Explorer(preemptions: Explorer.usualBound).explore(name) {
        let taken = Taken()
        return Explorer.Script(threads: threads(taken)) {
          taken.all == expected ? nil : "taken: \(taken.all), left: \(taken.queue.count)"
        }
      }
      #expect(runs > 5)
    }

    @Test("P27 a waiter leads once the leader's own deadline has passed")
    func givesUp() throws {
      try explore("a leader gives up", taken: [9]) { taken in
        taken.put(9)
        return [
          {
            // If it comes so late that the element is due, the other one gets it again.
            guard let value = try? taken.queue.take(until: .now + .milliseconds(1)) else { return }
            taken.put(value)
          }, taken.take,
        ]
      }
    }

    @Test("P27 a waiter leads once the leader has taken the first element")
    func takesFirst() throws {
      try explore("a leader takes the first", taken: [2, 4]) { taken in
        taken.put(2)
        taken.put(4)
        return [taken.take, taken.take]
      }
    }

    @Test("P27 the first element wakes a taker, which sleeps until the element is due")
    func first() throws {
      try explore("a first element", taken: [2]) { taken in [taken.take, { taken.put(2) }] }
    }

    @Test("P27 a closed queue delivers its elements when they are due, and then ends all takes")
    func closed() throws {
      try explore("closed with an element that is not due", taken: [2]) { taken in
        [
          taken.take, taken.take,
          {
            taken.put(2); taken.queue.close()
          },
        ]
      }
    }
  }
}
