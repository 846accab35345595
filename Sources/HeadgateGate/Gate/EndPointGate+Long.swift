// The long lane, and queries about the outlook of a request.

import HeadgateThreads

extension EndPointGate {
  /// Whether a long request to the end-point would be accepted now under the policy `throw`: the long lane has a free
  /// place, counting the requests that wait for one. The answer may be outdated when it is read: to act on it, use
  /// `URLDispatcher.tryDispatchLong(_:delegate:on:)`. The request may still have to wait until short requests release a
  /// permit. O(1).
  public func isLongRequestAllowed(at endPoint: EndPoint) -> Bool {
    state.withLock { $0.scheduler.outlook(for: endPoint, .long, patience: .needsLongPlace) } != .refused
  }

  /// The number of long requests that hold a permit of the end-point. O(1).
  public func runningLongRequests(at endPoint: EndPoint) -> Int {
    state.withLock { $0.scheduler.runningLong(at: endPoint) }
  }

  /// The outlook of a request if it were submitted now, provided that it may wait. O(1).
  ///
  /// - Parameters:
  ///   - endPoint: The end-point.
  ///   - lane: The lane.
  ///   - priority: The priority. If the queue is full, a request with a lower priority may be displaced.
  public func availability(
    for endPoint: EndPoint, lane: RequestLane = .short, priority: RequestPriority = .normal
  ) -> RequestAvailability {
    let moment = timers.now
    return state.withLock { $0.scheduler.outlook(for: endPoint, lane, priority: priority, at: moment) }
  }
}
