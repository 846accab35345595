import Synchronization

/// What the threads of a script did to a queue and what came of it, with the moments at which each call began and ended.
final class History: Sendable {
  enum Action: Equatable { case put(Int), take, close }
  enum Outcome: Equatable { case done, took(Int), closed, timedOut, nothing }

  struct Call {
    let action: Action
    let began: Int
    var ended: Int
    var outcome: Outcome
  }

  private struct State {
    var clock = 0
    var calls: [Call] = []
  }

  private let state = Mutex(State())
  var calls: [Call] { state.withLock { $0.calls } }

  /// Makes a call and notes it.
  func note(_ action: Action, _ body: () -> Outcome) {
    let began = state.withLock { state in
      state.clock += 1
      return state.clock
    }
    let outcome = body()
    state.withLock { state in
      state.clock += 1
      state.calls.append(Call(action: action, began: began, ended: state.clock, outcome: outcome))
    }
  }

  /// Whether the calls could have happened one after another, each at one moment between its beginning and its end, on a
  /// queue of so many elements. J. M. Wing and C. Gong, "Testing and verifying concurrent objects" (1993).
  func isLinearizable(capacity: Int) -> Bool {
    var calls = calls
    return Self.search(&calls, Model(capacity: capacity))
  }

  private static func search(_ calls: inout [Call], _ model: Model) -> Bool {
    if calls.isEmpty { return true }
    let firstEnd = calls.map(\.ended).min() ?? 0
    // Only a call that began before any other had ended may have been the first.
    for index in calls.indices where calls[index].began < firstEnd {
      var next = model
      guard next.allows(calls[index]) else { continue }
      let call = calls.remove(at: index)
      if search(&calls, next) { return true }
      calls.insert(call, at: index)
    }
    return false
  }

  /// The queue as everybody understands it.
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
      case (.close, .done):
        isClosed = true
        return true
      default: return false
      }
    }
  }
}
