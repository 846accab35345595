import Foundation
import HeadgateThreads
import Testing

extension Explorations {
  /// Small scripts of operations on a queue, in every interleaving up to the bound: none hangs, and each history is one
  /// that a queue could have had.
  @Suite struct QueueExplorationTests {
    enum Step: Sendable { case put(Int), take, tryPut(Int), tryTake, takeSoon, putSoon(Int), close }

    static let scripts: [(name: String, capacity: Int, threads: [[Step]])] = [
      ("one puts, one takes", 2, [[.put(1), .put(2)], [.take, .take]]),
      ("a place for one", 1, [[.put(1), .put(2)], [.take, .take]]),
      ("two put, one takes", 1, [[.put(1)], [.put(2)], [.take, .take]]),
      ("one puts, two take", 4, [[.put(1), .put(2)], [.take], [.take]]),
      ("both try", 1, [[.tryPut(1), .tryPut(2)], [.tryTake, .tryTake]]),
      ("a take that may time out, beside one that waits", 2, [[.put(1)], [.takeSoon], [.tryPut(2), .take]]),
      ("a put that may time out", 1, [[.put(1), .putSoon(2)], [.takeSoon], [.tryTake]]),
      ("closed while one waits to take", 2, [[.take], [.put(1), .close]]),
      ("closed while one waits to put", 1, [[.put(1), .put(2)], [.close], [.tryTake]]),
      ("closed, and what is there is taken", 2, [[.put(1), .close], [.take, .take]]),
    ]

    /// Two find more and take minutes: HEADGATE_PREEMPTIONS=2.
    static let bound = ProcessInfo.processInfo.environment["HEADGATE_PREEMPTIONS"].flatMap { Int($0) } ?? 1

    private func explore(_ capacity: Int, _ threads: [[Step]], preemptions: Int = Self.bound) throws(Explorer.Failure)
      -> Int
    {
      try Explorer(preemptions: preemptions).explore {
        let history = History()
        // The capacity is no outside data.
        guard let queue = try? BlockingQueue<Int>(capacity: capacity) else {
          return Explorer.Script(threads: []) { "no queue" }
        }
        return Explorer.Script(
          threads: threads.map { steps in
            { @Sendable in for step in steps { Self.perform(step, on: queue, history) } }
          }
        ) {
          history.isLinearizable(capacity: capacity) ? nil : "no queue does this: \(history.calls)"
        }
      }
    }

    private static func perform(_ step: Step, on queue: BlockingQueue<Int>, _ history: History) {
      func put(_ value: Int, until deadline: Deadline = .distantFuture) {
        history.note(.put(value)) {
          do throws(WaitError) {
            try queue.put(value, until: deadline) as Void
            return .done
          } catch {
            return error.code == .closed ? .closed : .timedOut
          }
        }
      }
      func take(until deadline: Deadline = .distantFuture) {
        history.note(.take) {
          do throws(WaitError) { return .took(try queue.take(until: deadline)) } catch {
            return error.code == .closed ? .closed : .timedOut
          }
        }
      }
      switch step {
      case .put(let value): put(value)
      case .putSoon(let value): put(value, until: .now + .milliseconds(1))
      case .take: take()
      case .takeSoon: take(until: .now + .milliseconds(1))
      case .tryPut(let value):
        history.note(.put(value)) {
          do throws(WaitError) {
            let isIn: Bool = try queue.tryPut(value)
            return isIn ? .done : .nothing
          } catch { return .closed }
        }
      case .tryTake:
        history.note(.take) {
          do throws(WaitError) {
            guard let value = try queue.tryTake() else { return .nothing }
            return .took(value)
          } catch { return .closed }
        }
      case .close:
        history.note(.close) {
          queue.close()
          return .done
        }
      }
    }

    @Test("P03 every interleaving of a script is a history of a queue, and none hangs", arguments: scripts.indices)
    func linearizable(index: Int) throws {
      let script = Self.scripts[index]
      #expect(try explore(script.capacity, script.threads) > 5, "\(script.name)")
    }

    @Test("P10 without the look between lining up and sleeping, an interleaving is found in which a wake-up is lost")
    func withoutRecheck() {
      Explored.withoutRecheck = true
      defer { Explored.withoutRecheck = false }
      #expect(throws: Explorer.Failure.self) { try explore(2, [[.put(1)], [.take]]) }
    }
  }
}
