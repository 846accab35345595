import HTTPTypes
import HeadgateThreads
import Synchronization

/// One request's observers, and the line of what they are to be told of: one call at a time, in order, with no lock held.
///
/// Whoever brings something tells it, and what others bring meanwhile: so nobody waits, and an observer that cancels its
/// own request inside a call hears of that after the call.
///
/// A part of its request's ``ObservedOperation``.
// Unchecked: what may change is the tree, see there.
struct Observation: ~Copyable, @unchecked Sendable {
  /// Who has the tree. Not private: a test in release mode, which lays out what it stands in, would find no metadata to link.
  enum Turn: UInt8, AtomicRepresentable {
    /// Nobody. -> telling
    case free
    /// A thread that tells of something. -> free, crowded (another one has brought something)
    case telling
    /// The same, and there is more to tell. -> telling
    case crowded
  }

  private static let lastID = Atomic<UInt64>(0)

  private let id: UInt64
  private let lane: RequestLane
  private let observers: Observers
  // Nearly always one thread after the other comes: then this is all that it touches beside the tree, and twice.
  private let turn = Atomic(Turn.free)
  // What was brought while another thread had the turn, which becomes `crowded` and `telling` again under this lock only.
  private let line = Locked<[(event: SpanTree.Event, moment: Deadline)]>([])
  // Touched only by the thread that has the turn.
  private let tree: _Cell<SpanTree>

  /// What it is made of, where it is to stand: made elsewhere, all of it would be moved.
  struct Beginning {
    let request: ObservedRequest
    let at: Deadline
    let observers: Observers
  }

  /// Asks the dispatcher's observers who is interested, and puts their header fields into the request. Nil: nobody is.
  @inline(never)
  static func begin(
    _ request: inout DispatchRequest, _ lane: RequestLane, _ core: DispatchCore, at moment: Deadline
  ) -> Beginning? {
    let id = lastID.add(1, ordering: .relaxed).newValue
    var start = RequestStart(ObservedRequest(request, lane, id: id), at: moment)
    var first: (any RequestObserver)?
    var others: [any RequestObserver] = []
    DeliveryFrame.mark(core.gateIdentity) {
      for observer in core.observers {
        guard let one = observer.requestStarted(&start) else { continue }
        if first == nil { first = one } else { others.append(one) }
      }
    }
    // Also those of an observer that wants to hear no more.
    if !start.added.isEmpty { request.setObserversFields(start.added) }
    guard let observers = Observers(first, others) else { return nil }
    // The dispatcher owes the observers their last call: its shutdown waits for that.
    core.operations.add()
    return Beginning(request: start.request, at: moment, observers: observers)
  }

  @inline(__always)
  init(_ beginning: consuming Beginning) {
    (id, lane) = (beginning.request.id, beginning.request.lane)
    observers = beginning.observers
    tree = _Cell(SpanTree(beginning.request, at: beginning.at))
  }

  /// Another request than the one that was submitted, as observers see it.
  func observed(_ later: DispatchRequest) -> ObservedRequest { ObservedRequest(later, lane, id: id) }

  /// Tells it now, or leaves it to the thread that is telling. `core` is the request's own.
  func add(_ event: SpanTree.Event, at moment: Deadline, _ core: DispatchCore) {
    guard takesTurn() || takesTurn(orLeaves: event, at: moment) else { return }
    DeliveryFrame.mark(core.gateIdentity) {
      tell(event, at: moment, core)
      // What others have brought meanwhile, or the observers themselves.
      while !givesTurnBack() { for (event, moment) in takeLine() { tell(event, at: moment, core) } }
    }
  }

  private func tell(_ event: SpanTree.Event, at moment: Deadline, _ core: DispatchCore) {
    // Taken out first, as in `Locked.withLock`.
    let tree = tree._address
    if tree.pointee.apply(event, at: moment, telling: observers) { core.operations.remove() }
  }

  @inline(__always)
  private func takesTurn() -> Bool {
    turn.compareExchange(expected: .free, desired: .telling, ordering: .acquiring).exchanged
  }

  @inline(__always)
  private func givesTurnBack() -> Bool {
    turn.compareExchange(expected: .telling, desired: .free, ordering: .releasing).exchanged
  }

  // By itself, so that it is not in the way of those who find the turn free.
  @inline(never)
  private func takesTurn(orLeaves event: SpanTree.Event, at moment: Deadline) -> Bool {
    line.withLock { line in
      // The one who tells may give the turn back between a look and the next.
      while turn.load(ordering: .relaxed) != .crowded {
        if takesTurn() { return true }
        if turn.compareExchange(expected: .telling, desired: .crowded, ordering: .relaxed).exchanged { break }
      }
      line.append((event, moment))
      return false
    }
  }

  @inline(never)
  private func takeLine() -> [(event: SpanTree.Event, moment: Deadline)] {
    line.withLock { line in
      turn.store(.telling, ordering: .relaxed)
      defer { line = [] }
      return line
    }
  }
}
