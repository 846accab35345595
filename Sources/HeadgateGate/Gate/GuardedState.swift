import HeadgateThreads

/// The state guarded by a gate's lock: which requests may run, and which transports may open sockets. Under one lock
/// and with one copy of the limits, so that the two always agree on the limits in force.
struct GuardedState: Sendable {
  var scheduler: Scheduler<any GateClient>
  var sockets = SocketLedger()
  var alarm = GateAlarm()
  /// The holders to notify when sockets become free.
  var holders: [SocketLedger.Holder: any SocketHolder] = [:]

  init(limits: GateLimits) { scheduler = Scheduler(limits: limits) }

  /// Whether a request may be waiting for a point in time, so that the gate's timer needs attention.
  var isTimed: Bool { scheduler.isTimed || alarm.isArmed }

  /// Calls that tell the holders of connections that the limits have changed. To be called after the lock is released.
  var limitsCalls: [GateSockets.Call] {
    sockets.keepers.compactMap { id -> GateSockets.Call? in
      guard let holder = holders[id] else { return nil }
      return { holder.limitsChanged() }
    }
  }
}

/// A gate's state behind its lock. A separate object, so that others can query it while the gate is being
/// deinitialized.
///
/// Not a `LockedBox`: a generic class of another module is not specialized, which each request would pay for.
final class LockedGateState: Sendable {
  private let locked: Locked<GuardedState>

  init(_ limits: GateLimits) { locked = Locked(GuardedState(limits: limits)) }

  func withLock<Result, Failure: Error>(
    _ body: (inout sending GuardedState) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try locked.withLock(body)
  }

  /// In debug builds, stops the process if the calling thread holds the lock. Call it first before calling out.
  func assertNotHeld() { locked.assertNotHeld() }
}
