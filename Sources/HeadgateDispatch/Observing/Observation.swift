import HTTPTypes
import HeadgateThreads
import Synchronization

/// One request's observers, and the line of what they are to be told of: one call at a time, in order, with no lock held.
///
/// The thread that brings an event tells it, and then tells what other threads bring meanwhile. So no thread waits for an
/// observer, and an observer that cancels its own request inside a call hears of that after the call.
final class Observation: Sendable {
  /// An event that waits to be told.
  private typealias Entry = (event: SpanTree.Event, moment: Deadline)

  private enum Line {
    /// No thread tells: the spans are here.
    case free(SpanTree)
    /// A thread tells, and has the spans. These events follow.
    case telling([Entry])
  }

  private static let lastID = Atomic<UInt64>(0)

  private let id: UInt64
  private let lane: RequestLane
  private let core: DispatchCore
  private let observers: [any RequestObserver]
  private let line: Locked<Line>

  /// Asks the dispatcher's observers which of them are interested, and puts their header fields into the request. Nil: none.
  static func begin(
    _ request: inout DispatchRequest, _ lane: RequestLane, _ core: DispatchCore, at moment: Deadline
  ) -> Observation? {
    let id = lastID.add(1, ordering: .relaxed).newValue
    var start = RequestStart(ObservedRequest(request, lane, id: id), at: moment)
    var observers: [any RequestObserver] = []
    DeliveryFrame.mark(core.gateIdentity) {
      observers = core.observers.compactMap { $0.requestStarted(&start) }
    }
    // Also those of an observer that wants to hear no more.
    if !start.added.isEmpty { request.setObserversFields(start.added) }
    guard !observers.isEmpty else { return nil }
    return Observation(start, lane, id, core, observers)
  }

  private init(
    _ start: RequestStart, _ lane: RequestLane, _ id: UInt64, _ core: DispatchCore, _ observers: [any RequestObserver]
  ) {
    self.id = id
    self.lane = lane
    self.core = core
    self.observers = observers
    line = Locked(.free(SpanTree(start.request, at: start.at)))
    // The dispatcher owes the observers their last call: its shutdown waits for that.
    core.operations.add()
  }

  /// A request as observers see it.
  func observed(_ request: DispatchRequest) -> ObservedRequest { ObservedRequest(request, lane, id: id) }

  /// Tells an event now, or leaves it to the thread that is telling.
  func add(_ event: SpanTree.Event, at moment: Deadline) {
    guard var spans = takeSpans(orLeave: (event, moment)) else { return }
    DeliveryFrame.mark(core.gateIdentity) {
      var next: Entry? = (event, moment)
      while let entry = next {
        if spans.apply(entry.event, at: entry.moment, telling: observers) { core.operations.remove() }
        next = takeNext(orLeave: spans)
      }
    }
  }

  private func takeSpans(orLeave entry: Entry) -> SpanTree? {
    line.withLock { line in
      switch line {
      case .free(let spans):
        line = .telling([])
        return spans
      case .telling(let entries):
        line = .telling(entries + [entry])
        return nil
      }
    }
  }

  private func takeNext(orLeave spans: SpanTree) -> Entry? {
    line.withLock { line in
      guard case .telling(var entries) = line, !entries.isEmpty else {
        line = .free(spans)
        return nil
      }
      let next = entries.removeFirst()
      line = .telling(entries)
      return next
    }
  }
}
