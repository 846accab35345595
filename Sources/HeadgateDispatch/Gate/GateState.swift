import HeadgateThreads

/// What a gate's lock guards: who may run, and who may open a socket. Under one lock, and with one copy of the limits, so
/// that the two never disagree on what is in force.
struct GateState: Sendable {
  var scheduler: Scheduler<any GateClient>
  var sockets = SocketLedger()
  var alarm = GateAlarm()
  /// Who is told of sockets that become free.
  var holders: [SocketLedger.Holder: any SocketHolder] = [:]

  init(limits: GateLimits) { scheduler = Scheduler(limits: limits) }

  /// Whether something may wait for the time, so that the gate's timer has to be looked after.
  var isTimed: Bool { scheduler.isTimed || alarm.isArmed }

  /// Tells holders that keep connections that the limits have changed; to be called when the lock is free again.
  var limitsCalls: [GateSockets.Call] {
    sockets.keepers.compactMap { id -> GateSockets.Call? in
      guard let holder = holders[id] else { return nil }
      return { holder.limitsChanged() }
    }
  }
}

/// A gate's state behind its lock: an object of its own, so that others can ask it while the gate itself goes.
///
/// Not a `LockedBox`: another module's class is compiled for any type, which cost a request 930 instructions more, of 4,950.
final class LockedGateState: Sendable {
  private let locked: Locked<GateState>

  init(_ limits: GateLimits) { locked = Locked(GateState(limits: limits)) }

  func withLock<Result, Failure: Error>(
    _ body: (inout sending GateState) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try locked.withLock(body)
  }

  /// In debug builds, stops the process if the calling thread holds the lock: the first line of an outcall.
  func assertNotHeld() { locked.assertNotHeld() }
}
