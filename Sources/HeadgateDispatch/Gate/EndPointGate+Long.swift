// What concerns the long lane, and questions about what a request would meet.

import HeadgateThreads

extension EndPointGate {
  /// Whether a long request to the end-point would be taken now, by the rule of the policy `throw`: the long lane has a
  /// place, counting those that wait for one. (It may still have to wait until short requests let go of a permit.) O(1).
  public func isLongRequestAllowed(at endPoint: EndPoint) -> Bool {
    let outlook = state.withLock { $0.scheduler.outlook(for: endPoint, .long, patience: .needsLongPlace) }
    if case .refused = outlook { return false }
    return true
  }

  /// How many long requests hold a permit of the end-point. O(1).
  public func runningLongRequests(at endPoint: EndPoint) -> Int {
    state.withLock { $0.scheduler.runningLong(at: endPoint) }
  }

  /// What a request would meet if it were submitted now and were willing to wait. O(1).
  ///
  /// - Parameters:
  ///   - endPoint: Whose permit it needs.
  ///   - lane: By which lane it goes.
  ///   - priority: How urgent it is: where too many wait, another may have to give way to it.
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

  /// Changes how many long requests an end-point tolerates, and nothing else of its limit, in one step.
  ///
  /// - Parameters:
  ///   - long: Long requests at once, as in ``EndPointLimits/init(requests:long:connections:weight:rates:minimumInterval:budgets:)``.
  ///   - endPoint: For this one only, which has a limit of its own from then on; nil for all that have none.
  /// - Throws: ``LimitError`` for a number that is out of range.
  public func setMaxLongRequests(_ long: Int, for endPoint: EndPoint? = nil) throws(LimitError) {
    let result = changeLimits(at: endPoint) { scheduler -> Result<Void, LimitError> in
      let limits = scheduler.limits
      do throws(LimitError) {
        let changed = try (endPoint.map(limits.of) ?? limits.endPoint).with(long: long)
        if let endPoint {
          scheduler.setLimits(changed, for: endPoint)
        } else {
          scheduler.updateLimits { $0.endPoint = changed }
        }
      } catch {
        return .failure(error)
      }
      return .success(())
    }
    try result.get()
  }
}
