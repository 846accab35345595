import HTTPTypes
import HeadgateThreads
import Synchronization

/// One request's observers, and the line of what they are to be told of: one call at a time, in order, with no lock held.
///
/// Whoever brings something tells it, and what others bring meanwhile: so nobody waits, and an observer that cancels its
/// own request inside a call hears of that after the call.
final class Observation: Sendable {
  private struct Line {
    // Whoever sets it has the tree, until it is unset.
    var isTelling = false
    var events: [(event: SpanTree.Event, moment: Deadline)] = []
  }

  private static let lastID = Atomic<UInt64>(0)

  private let id: UInt64
  private let requestClass: RequestClass
  private let observers: Observers
  private let line = Locked(Line())
  // Touched only by the thread that has set `isTelling` under the lock; it unsets it there once it is done.
  @exclusivity(unchecked) private nonisolated(unsafe) var tree: SpanTree

  /// Asks the dispatcher's observers who is interested, and puts their header fields into the request.
  ///
  /// - Returns: The request as it is to be sent, and its observation; nil: nobody is interested.
  @inline(never)
  static func begin(
    _ request: DispatchRequest, _ requestClass: RequestClass, _ core: DispatchCore, at moment: Deadline
  ) -> (DispatchRequest, Observation?) {
    let id = lastID.add(1, ordering: .relaxed).newValue
    var start = RequestStart(ObservedRequest(request, requestClass, id: id), at: moment)
    var first: (any RequestObserver)?
    var others: [any RequestObserver] = []
    DeliveryFrame.mark(core.gateIdentity) {
      for observer in core.observers {
        guard let one = observer.requestStarted(&start) else { continue }
        if first == nil { first = one } else { others.append(one) }
      }
    }
    // Also those of an observer that wants to hear no more.
    let request = start.added.isEmpty ? request : Self.adding(start.added, to: request)
    guard let observers = Observers(first, others) else { return (request, nil) }
    // The dispatcher owes the observers their last call: its shutdown waits for that.
    core.owe()
    return (request, Observation(start, observers))
  }

  // By itself, so that it is not in the way of requests that nothing is added to.
  @inline(never)
  private static func adding(_ added: [HTTPField], to request: DispatchRequest) -> DispatchRequest {
    var request = request
    var fields = request.headerFields
    for field in added { fields[field.name] = field.value }
    request.headerFields = fields
    return request
  }

  private init(_ start: RequestStart, _ observers: consuming Observers) {
    (id, requestClass) = (start.request.id, start.request.requestClass)
    self.observers = observers
    tree = SpanTree(start.request, at: start.at)
  }

  /// Another request than the one that was submitted, as observers see it.
  func observed(_ later: DispatchRequest) -> ObservedRequest { ObservedRequest(later, requestClass, id: id) }

  /// Tells it now, or leaves it to the thread that is telling. `core` is the request's own.
  func add(_ event: SpanTree.Event, at moment: Deadline, _ core: DispatchCore) {
    let mustTell = line.withLock { line in
      guard line.isTelling else {
        line.isTelling = true
        return true
      }
      line.events.append((event, moment))
      return false
    }
    guard mustTell else { return }
    DeliveryFrame.mark(core.gateIdentity) {
      tell(event, at: moment, core)
      // What others have brought meanwhile, or the observers themselves.
      while let events = takeEvents() { for (event, moment) in events { tell(event, at: moment, core) } }
    }
  }

  private func tell(_ event: borrowing SpanTree.Event, at moment: Deadline, _ core: DispatchCore) {
    if tree.apply(event, at: moment, telling: observers) { core.settle() }
  }

  private func takeEvents() -> [(event: SpanTree.Event, moment: Deadline)]? {
    line.withLock { line in
      guard !line.events.isEmpty else {
        line.isTelling = false
        return nil
      }
      defer { line.events = [] }
      return line.events
    }
  }
}
