/// What a gate's lock guards: who may run, and who may open a socket. Under one lock, and with one copy of the limits, so
/// that the two never disagree on what is in force.
struct GateState: Sendable {
  var scheduler: Scheduler<any GateClient>
  var sockets = SocketLedger()
  /// Who is told of sockets that become free.
  var holders: [SocketLedger.Holder: any SocketHolder] = [:]

  init(limits: GateLimits) { scheduler = Scheduler(limits: limits) }

  /// Tells holders that keep connections that the limits have changed; to be called when the lock is free again.
  var limitsCalls: [GateSockets.Call] {
    sockets.keepers.compactMap { id -> GateSockets.Call? in
      guard let holder = holders[id] else { return nil }
      return { holder.limitsChanged() }
    }
  }
}
