import HeadgateThreads

/// One whose observers are told of its way. They are a part of it, since all that waits is memory to be looked up, and given
/// back, by another thread than the one that took it.
// Unchecked, as its superclass: constant, and what it consists of may be sent.
final class ObservedOperation: DispatchOperation, @unchecked Sendable {
  private let observation: Observation

  init(
    _ beginning: consuming Observation.Beginning, _ request: DispatchRequest, _ lane: RequestLane,
    _ core: consuming DispatchCore, _ sink: consuming any ResponseSink, _ kind: Kind, age: Deadline?, at now: Deadline
  ) {
    observation = Observation(beginning)
    super.init(request, lane, core, sink, kind, age: age, at: now, isObserved: true)
  }

  override func tell(_ event: SpanTree.Event, at moment: Deadline) {
    observation.add(event, at: moment, core)
  }

  override func observed(_ later: DispatchRequest) -> ObservedRequest? { observation.observed(later) }
}
