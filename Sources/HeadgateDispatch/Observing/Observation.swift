import HTTPTypes
import HeadgateThreads
import Synchronization

/// One request's observers, and the line of what they are to be told: one call at a time, in order, with no lock held.
///
/// Whoever brings something tells it, and what others bring meanwhile: so nobody waits, and an observer that cancels its
/// own request inside a call hears of that after the call.
final class Observation: Sendable {
  private struct State {
    var tree: SpanTree
    var line: [SpanTree.Call] = []
    var isTelling = false
  }

  private static let lastID = Atomic<UInt64>(0)

  let id: UInt64
  private let requestClass: RequestClass
  private let observers: [any RequestObserver]
  private let core: DispatchCore
  private let state: Locked<State>

  /// Asks the dispatcher's observers who is interested, and puts their header fields into the request.
  ///
  /// - Returns: The request as it is to be sent, and its observation; nil: nobody is interested.
  @inline(never)
  static func begin(
    _ request: DispatchRequest, _ requestClass: RequestClass, _ core: DispatchCore, at moment: Deadline
  ) -> (DispatchRequest, Observation?) {
    let id = lastID.add(1, ordering: .relaxed).newValue
    var start = RequestStart(ObservedRequest(request, requestClass, id: id), at: moment)
    var observers: [any RequestObserver] = []
    DeliveryFrame.mark(core.gateIdentity) {
      for observer in core.observers { if let one = observer.requestStarted(&start) { observers.append(one) } }
    }
    // Also those of an observer that wants to hear no more.
    var request = request
    if !start.added.isEmpty {
      var fields = request.headerFields
      for field in start.added { fields[field.name] = field.value }
      request.headerFields = fields
    }
    guard !observers.isEmpty else { return (request, nil) }
    // The dispatcher owes the observers their last call: its shutdown waits for that.
    core.owe()
    return (request, Observation(start, observers, core))
  }

  private init(_ start: RequestStart, _ observers: [any RequestObserver], _ core: DispatchCore) {
    id = start.request.id
    requestClass = start.request.requestClass
    self.observers = observers
    self.core = core
    state = Locked(State(tree: SpanTree(start.request, at: start.at)))
  }

  /// The request as observers see it.
  func observed(_ request: DispatchRequest) -> ObservedRequest { ObservedRequest(request, requestClass, id: id) }

  func add(_ event: SpanTree.Event, at moment: Deadline) {
    let mustTell = state.withLock { state in
      state.tree.apply(event, at: moment, to: &state.line)
      guard !state.line.isEmpty, !state.isTelling else { return false }
      state.isTelling = true
      return true
    }
    if mustTell { DeliveryFrame.mark(core.gateIdentity) { tell() } }
  }

  private func tell() {
    while let calls = takeLine() {
      for call in calls {
        for observer in observers { call.tell(observer) }
        if case .requestEnded = call { core.settle() }
      }
    }
  }

  private func takeLine() -> [SpanTree.Call]? {
    state.withLock { state in
      guard !state.line.isEmpty else {
        state.isTelling = false
        return nil
      }
      defer { state.line = [] }
      return state.line
    }
  }
}
