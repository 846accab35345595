import HTTPTypes
import HeadgateThreads
import Synchronization

/// The observers of one request, and the queue of their events: one call at a time, in order, with no lock held.
///
/// The thread that causes an event delivers it, and then delivers what other threads add in the meantime. No thread
/// waits for an observer. If an observer cancels its own request inside a call, it receives that event after the call.
final class Observation: Sendable {
  /// A queued event.
  private typealias Entry = (event: SpanTree.Event, moment: Deadline)

  private enum Line {
    /// No thread is delivering: the spans are here.
    case free(SpanTree)
    /// A thread is delivering and has the spans. These events follow.
    case telling([Entry])
  }

  private static let lastID = Atomic<UInt64>(0)

  private let id: UInt64
  private let lane: RequestLane
  private let core: DispatchCore
  private let observers: [any RequestObserver]
  private let line: Locked<Line>

  /// Asks the dispatcher's observers which of them are interested, and adds their header fields to the request. Nil if
  /// none is interested.
  static func begin(
    _ request: inout DispatchRequest, _ lane: RequestLane, _ core: DispatchCore, at moment: Deadline
  ) -> Observation? {
    let id = lastID.add(1, ordering: .relaxed).newValue
    var start = RequestStart(request: ObservedRequest(request, lane, id: id), at: moment)
    var observers: [any RequestObserver] = []
    DeliveryFrame.mark(core.gateIdentity) {
      observers = core.observers.compactMap { $0.requestStarted(&start) }
    }
    // Includes fields of an observer that wants no further calls.
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
    // The dispatcher's shutdown waits for the observers' last call.
    core.operations.add()
  }

  /// A request as observers see it.
  func observed(_ request: DispatchRequest) -> ObservedRequest { ObservedRequest(request, lane, id: id) }

  /// Delivers an event now, or leaves it to the thread that is delivering.
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
