import HTTPTypes
import HeadgateThreads
import Synchronization

/// One request's observers, and the line of what they are to be told of: one call at a time, in order, with no lock held.
///
/// Whoever brings something tells it, and what others bring meanwhile: so nobody waits, and an observer that cancels its
/// own request inside a call hears of that after the call.
final class Observation: Sendable {
  /// Whose turn it is to tell.
  private enum Turn {
    static let nobodys: UInt8 = 0
    /// Whoever set it has the tree, until it is unset.
    static let taken: UInt8 = 1
    /// Taken, and others have left something in the line.
    static let takenWithMore: UInt8 = 2
  }

  private static let lastID = Atomic<UInt64>(0)

  /// The request as it was submitted, as observers see it.
  private let first: ObservedRequest
  private let observers: Observers
  private let core: DispatchCore
  // A word of its own: nearly always one thread after another brings something, and none of it goes through the line.
  private let turn = Atomic<UInt8>(Turn.nobodys)
  private let line = Locked<[(event: SpanTree.Event, moment: Deadline)]>([])
  // Touched only by the thread that has taken the turn, and until it gives it back.
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
    var request = request
    if !start.added.isEmpty {
      var fields = request.headerFields
      for field in start.added { fields[field.name] = field.value }
      request.headerFields = fields
    }
    guard let observers = Observers(first, others) else { return (request, nil) }
    // The dispatcher owes the observers their last call: its shutdown waits for that.
    core.owe()
    return (request, Observation(start, observers, core))
  }

  private init(_ start: RequestStart, _ observers: Observers, _ core: DispatchCore) {
    first = start.request
    self.observers = observers
    self.core = core
    tree = SpanTree(start.request, at: start.at)
  }

  /// The request as observers see it; `later` where it is not the one that was submitted.
  func observed(_ later: DispatchRequest?) -> ObservedRequest {
    later.map { ObservedRequest($0, first.requestClass, id: first.id) } ?? first
  }

  func add(_ event: SpanTree.Event, at moment: Deadline) {
    if takeTurn() {
      DeliveryFrame.mark(core.gateIdentity) {
        tell(event, at: moment)
        tellTheRest()
      }
    } else if leave(event, at: moment) {
      DeliveryFrame.mark(core.gateIdentity) {
        tellLine()
        tellTheRest()
      }
    }
  }

  private func takeTurn() -> Bool {
    turn.compareExchange(expected: Turn.nobodys, desired: Turn.taken, ordering: .acquiring).exchanged
  }

  /// Puts an event into the line. True: whoever told has just ended, and the turn is the caller's now.
  private func leave(_ event: SpanTree.Event, at moment: Deadline) -> Bool {
    line.withLock { $0.append((event, moment)) }
    while true {
      if takeTurn() { return true }
      let (isLeft, present) = turn.compareExchange(
        expected: Turn.taken, desired: Turn.takenWithMore, ordering: .releasing)
      // With more in it already the line is looked at after this: that is said before it is looked at.
      if isLeft || present == Turn.takenWithMore { return false }
    }
  }

  /// Gives the turn back, once all is told that others have brought meanwhile, or the observers themselves.
  private func tellTheRest() {
    while !turn.compareExchange(expected: Turn.taken, desired: Turn.nobodys, ordering: .releasing).exchanged {
      turn.store(Turn.taken, ordering: .relaxed)
      tellLine()
    }
  }

  private func tell(_ event: borrowing SpanTree.Event, at moment: Deadline) {
    if tree.apply(event, at: moment, telling: observers) { core.settle() }
  }

  private func tellLine() {
    let events = line.withLock { line in
      defer { line = [] }
      return line
    }
    for (event, moment) in events { tell(event, at: moment) }
  }
}
