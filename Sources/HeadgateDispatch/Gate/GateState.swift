import HeadgateThreads

/// A gate's scheduler behind its lock: an object of its own, so that others can ask it while the gate itself goes.
final class GateState: Sendable {
  private let scheduler: Locked<Scheduler<any GateClient>>

  init(_ limits: GateLimits) { scheduler = Locked(Scheduler(limits: limits)) }

  @inline(__always)
  func withLock<Result>(
    _ body: (inout sending Scheduler<any GateClient>) -> sending Result
  ) -> sending Result {
    scheduler.withLock(body)
  }

  /// In debug builds, stops the process if the calling thread holds the lock: the first line of an outcall.
  func assertNotHeld() { scheduler.assertNotHeld() }

  /// Whether anything runs or waits for an end-point.
  func isBusy(_ endPoint: EndPoint) -> Bool { scheduler.withLock { $0.isBusy(endPoint) } }
}
