// The long lane, and queries about the outlook of a request.

import HeadgateThreads

extension EndPointGate {
  /// Whether a long request to the end-point would be accepted now under the policy `throw`: the long lane has a free
  /// place, counting the requests that wait for one. It may still have to wait until short requests release a permit.
  /// O(1).
  public func isLongRequestAllowed(at endPoint: EndPoint) -> Bool {
    let outlook = state.withLock { $0.scheduler.outlook(for: endPoint, .long, patience: .needsLongPlace) }
    if case .refused = outlook { return false }
    return true
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
    return switch state.withLock({ $0.scheduler.outlook(for: endPoint, lane, priority: priority, at: moment) }) {
    case .runs: .runs
    case .waits(let before): .waits(before: before)
    case .refused: .refused
    }
  }

  /// Changes the maximum number of long requests, and no other part of the limit, atomically.
  ///
  /// - Parameters:
  ///   - long: The maximum number of long requests at a time, as in
  ///     ``EndPointLimits/init(requests:long:connections:weight:rates:minimumInterval:budgets:)``.
  ///   - endPoint: The only end-point to change, which then has a limit of its own. Nil: all end-points without one.
  /// - Throws: ``LimitError`` if the number is out of range.
  public func setMaxLongRequests(_ long: Int, for endPoint: EndPoint? = nil) throws(LimitError) {
    let result = changeLimits(at: endPoint) { scheduler in
      let limits = scheduler.limits
      return Result { () throws(LimitError) in
        let changed = try (endPoint.map(limits.of) ?? limits.endPoint).with(long: long)
        if let endPoint {
          scheduler.setLimits(changed, for: endPoint)
        } else {
          scheduler.updateLimits { $0.endPoint = changed }
        }
      }
    }
    try result.get()
  }
}
