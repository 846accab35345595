import CExplorer
import Exploring
import Programs

@testable import HeadgateThreads

/// A script of operations on a few queues, and the queues that their histories are compared with.
struct QueueScript: Sendable {
  indirect enum Step: Sendable {
    case put(Int), take, tryPut(Int), tryTake, takeSoon, putSoon(Int), close
    /// Puts once a taker waits, which must succeed. And the other way round.
    case tryPutToTaker(Int), tryTakeFromPutter
    /// The same at another queue than the first.
    case at(Int, Step)
    /// From the first of all queues that has an element.
    case select, selectSoon
    /// Replaces an element taken from another queue than the first.
    case selectReplacing(Int)
  }

  let name: String
  let capacities: [Int]
  let threads: [[Step]]
  /// With more than one preemption: a bound where all would take minutes.
  let detours: Int

  init(_ name: String, _ capacities: [Int], detours: Int = .max, _ threads: [[Step]]) {
    self.name = name
    self.capacities = capacities
    self.threads = threads
    self.detours = detours
  }

  init(_ name: String, _ capacity: Int, detours: Int = .max, _ threads: [[Step]]) {
    self.init(name, [capacity], detours: detours, threads)
  }

  /// Explores every interleaving: none hangs, and each history is linearizable. Returns their number.
  func explore() throws(Explorer.Failure) -> Int {
    let preemptions = Explorer.usualBound
    return try Explorer(preemptions: preemptions, detours: preemptions > 1 ? detours : .max).explore(name) {
      let history = History()
      // The capacities are not external data.
      let queues = capacities.compactMap { try? BlockingQueue<Int>(capacity: $0) }
      Self.settleTurns(queues.count)
      return Explorer.Script(
        threads: threads.map { steps in
          { @Sendable in for step in steps { Self.perform(step, at: 0, of: queues, history) } }
        }
      ) {
        guard history.isLinearizable(capacities: capacities) else { return "no queue does this: \(history.calls)" }
        let waits = queues.map(\.waitingCounts)
        return waits.allSatisfy { $0 == (0, 0) } ? nil : "waiters are left in line: \(waits)"
      }
    }
  }

  private static func perform(_ step: Step, at index: Int, of queues: [BlockingQueue<Int>], _ history: History) {
    let queue = queues[index]
    switch step {
    case .at(let other, let step): perform(step, at: other, of: queues, history)
    case .put(let value):
      history.note(.put(value), at: index) { QueueCalls.put(value, into: queue, until: .distantFuture) }
    case .putSoon(let value): history.note(.put(value), at: index) { QueueCalls.put(value, into: queue, until: soon) }
    case .take: history.note(.take, at: index) { QueueCalls.take(from: queue, until: .distantFuture) }
    case .takeSoon: history.note(.take, at: index) { QueueCalls.take(from: queue, until: soon) }
    case .tryPut(let value): history.note(.put(value), at: index) { QueueCalls.tryPut(value, into: queue) }
    case .tryTake: history.note(.take, at: index) { QueueCalls.tryTake(from: queue) }
    case .tryPutToTaker(let value):
      while queue.waitingCounts.takers == 0 { lookAgain() }
      history.note(.put(value), at: index) { QueueCalls.tryPut(value, into: queue) == .done ? .done : .empty }
    case .tryTakeFromPutter:
      while queue.waitingCounts.putters == 0 { lookAgain() }
      history.note(.take, at: index) {
        let outcome = QueueCalls.tryTake(from: queue)
        if case .took = outcome { return outcome }
        return .done
      }
    case .close:
      history.note(.close, at: index) {
        queue.close()
        return .done
      }
    case .select: history.note { select(from: queues, until: .distantFuture) }
    case .selectReplacing(let value):
      guard let (taken, _, outcome) = history.note({ select(from: queues, until: .distantFuture) }).first,
        taken > 0, case .took = outcome
      else { return }
      perform(.put(value), at: taken, of: queues, history)
    case .selectSoon: history.note { select(from: queues, until: soon) }
    }
  }

  /// Selects begin with another queue each time: in every run with the same one.
  private static func settleTurns(_ count: Int) {
    guard count > 1 else { return }
    while firstToSelect(of: count) != count - 1 {}
  }

  private static var soon: Deadline { .now + .milliseconds(1) }

  private static func lookAgain() { Run.current?.yield(Int(explorer_thread())) }

  /// A select is a take from one queue; a failed select is a check of each of them, one after another.
  private static func select(
    from queues: [BlockingQueue<Int>], until deadline: Deadline
  ) -> [(queue: Int, action: History.Action, outcome: CallOutcome)] {
    switch QueueCalls.select(from: queues, until: deadline) {
    case .took(let index, let value): [(index, .take, .took(value))]
    case .closed: queues.indices.map { ($0, .take, .closed) }
    case .timedOut: queues.indices.map { ($0, .take, .empty) }
    }
  }
}
