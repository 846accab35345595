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

  private struct Line {
    // Nil while a thread is delivering, which has them.
    var spans: SpanTree?
    // Follow what is being delivered.
    var entries: [Entry] = []
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
    let observers = DeliveryFrame.mark(core.gateIdentity) {
      core.observers.compactMap { $0.requestStarted(&start) }
    }
    // Includes fields of an observer that wants no further calls.
    for field in start.added {
      request.headerFields[field.name] = field.value
      request.fields.rare.observersFields.insert(field.name)
    }
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
    line = Locked(Line(spans: SpanTree(start.request, at: start.at)))
    // The dispatcher's shutdown waits for the observers' last call.
    core.operations.add()
  }

  /// A request as observers see it.
  func observed(_ request: DispatchRequest) -> ObservedRequest { ObservedRequest(request, lane, id: id) }

  /// Delivers an event now, or leaves it to the thread that is delivering.
  func add(_ event: SpanTree.Event, at moment: Deadline) {
    let taken = line.withLock { line in
      if line.spans == nil { line.entries.append((event, moment)) }
      return line.spans.take()
    }
    guard var spans = taken else { return }
    DeliveryFrame.mark(core.gateIdentity) {
      var next: Entry? = (event, moment)
      while let entry = next {
        if spans.apply(entry.event, at: entry.moment, telling: observers) { core.operations.remove() }
        next = line.withLock { line in
          guard line.entries.isEmpty else { return line.entries.removeFirst() }
          line.spans = spans
          return nil
        }
      }
    }
  }
}
