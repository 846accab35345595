import Programs
import Synchronization

/// The calls of a script's threads on a few queues and their results, with the moments at which each call began and
/// ended.
final class History: Sendable {
  enum Action: Equatable { case put(Int), take, close }

  struct Call {
    /// The queue's number.
    let queue: Int
    let action: Action
    let began: Int
    var ended: Int
    var outcome: CallOutcome
  }

  private struct State {
    var clock = 0
    var calls: [Call] = []
  }

  private let state = Mutex(State())
  var calls: [Call] { state.withLock { $0.calls } }

  /// Makes a call and records it.
  func note(_ action: Action, at queue: Int = 0, _ body: () -> CallOutcome) {
    note { [(queue, action, body())] }
  }

  /// Makes a call that is equivalent to several simultaneous ones, and records those.
  @discardableResult
  func note(
    _ body: () -> [(queue: Int, action: Action, outcome: CallOutcome)]
  ) -> [(queue: Int, action: Action, outcome: CallOutcome)] {
    let began = tick()
    let results = body()
    let ended = tick()
    state.withLock { state in
      for (queue, action, outcome) in results {
        state.calls.append(Call(queue: queue, action: action, began: began, ended: ended, outcome: outcome))
      }
    }
    return results
  }

  private func tick() -> Int {
    state.withLock { state in
      state.clock += 1
      return state.clock
    }
  }

  /// Whether the calls are linearizable: whether each could have happened at one moment between its beginning and its
  /// end, on queues of this capacity. J. M. Wing and C. Gong, "Testing and verifying concurrent objects" (1993).
  ///
  /// A put and a take that meet at a queue with capacity 0 happen at one moment, as one.
  func isLinearizable(capacities: [Int]) -> Bool {
    var calls = calls
    return Self.search(&calls, capacities.map { Model(capacity: $0) })
  }

  private static func search(_ calls: inout [Call], _ models: [Model]) -> Bool {
    if calls.isEmpty { return true }
    let firstEnd = calls.map(\.ended).min() ?? 0
    // Only a call that began before any other had ended may have been the first.
    let candidates = calls.indices.filter { calls[$0].began < firstEnd }
    for index in candidates {
      if search(&calls, models, first: [index]) { return true }
      for other in candidates where areOne(calls[index], calls[other], models) {
        if search(&calls, models, first: [index, other]) { return true }
      }
    }
    return false
  }

  private static func search(_ calls: inout [Call], _ models: [Model], first: [Int]) -> Bool {
    var models = models
    let taken = first.map { calls[$0] }
    if taken.count == 1, !models[taken[0].queue].allows(taken[0]) { return false }
    var rest = calls.indices.filter { !first.contains($0) }.map { calls[$0] }
    return search(&rest, models)
  }

  private static func areOne(_ put: Call, _ take: Call, _ models: [Model]) -> Bool {
    guard put.queue == take.queue, models[put.queue].capacity == 0, !models[put.queue].isClosed,
      case .put(let value) = put.action, put.outcome == .done, case .took(let taken) = take.outcome
    else { return false }
    return value == taken
  }

  /// The sequential specification of a queue.
  private struct Model {
    let capacity: Int
    var elements: [Int] = []
    var isClosed = false

    mutating func allows(_ call: Call) -> Bool {
      switch (call.action, call.outcome) {
      case (.put(let value), .done):
        guard !isClosed, elements.count < capacity else { return false }
        elements.append(value)
        return true
      case (.put, .closed): return isClosed
      case (.put, .timedOut), (.put, .nothing): return !isClosed && elements.count == capacity
      case (.take, .took(let value)): return !elements.isEmpty && elements.removeFirst() == value
      case (.take, .closed): return isClosed && elements.isEmpty
      case (.take, .timedOut), (.take, .nothing): return !isClosed && elements.isEmpty
      case (.take, .empty): return elements.isEmpty
      case (.close, .done):
        isClosed = true
        return true
      default: return false
      }
    }
  }
}
