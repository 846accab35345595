import HeadgateThreads
import Synchronization

/// The sockets under a gate's limits: how many are open at each end-point, and who may open the next.
///
/// A gate limits requests by permits, and sockets by leases: at an end-point no more are open, idle and closing ones
/// included, than its ``EndPointLimits/connections``, and over all end-points no more than ``GateLimits/total``. All
/// transports of all dispatchers that share the gate lease from here, and so does each bare permit, which counts as one
/// socket of its end-point.
///
/// A transport gets this from its dispatcher, by ``Transport/use(_:)``, before its first exchange. It joins once, or once
/// for each of its parts that has connections of its own. From then on:
///
/// - Before it opens a socket it calls ``SocketLeases/lease(_:waits:)``. If that returns false, the exchange waits: the
///   transport tells ``ExchangeEvents/waitsForSocket()`` and tries again at ``SocketHolder/socketIsReserved(_:)``.
/// - When a socket is closed, or could not be opened, it calls ``SocketLeases/giveBack(_:)``.
/// - When a connection becomes idle, and at ``SocketHolder/reviewIdleConnections()``, it asks
///   ``SocketLeases/mustClose(_:)`` and closes the connection if so.
/// - At its end it calls ``SocketLeases/leave()``.
///
/// A transport that can't count its sockets lacks ``TransportCapabilities/socketLimits``. It can at least keep its pool to
/// ``limits``, which it asks for anew whenever it needs them: a copy could be out of date.
public final class GateSockets: Sendable {
  private let state: LockedGateState
  // Whether an idle connection may have to be closed. Written under the lock; read without it whenever a connection becomes
  // idle. A shortage that begins a moment later asks all holders to look again.
  private let hasShortage = Atomic(false)

  init(_ state: LockedGateState) { self.state = state }

  /// The limits in force.
  public var limits: GateLimits { state.withLock { $0.scheduler.limits } }

  /// How many sockets an end-point tolerates now. O(labels of its host).
  public func limit(of endPoint: EndPoint) -> Int {
    state.withLock { $0.scheduler.limits.of(endPoint).connections }
  }

  /// Sockets that are open, over all end-points.
  public var openCount: Int { state.withLock { $0.sockets.open } }

  /// Sockets that are open to an end-point, those through tunnels included.
  public func openCount(at endPoint: EndPoint) -> Int { state.withLock { $0.sockets.count(at: endPoint) } }

  /// Takes part.
  ///
  /// - Parameters:
  ///   - holder: Who is told of what becomes free. Kept until it leaves.
  ///   - keepsIdle: Whether it keeps connections open that it does not use.
  /// - Returns: What it leases sockets by.
  public func join(_ holder: any SocketHolder, keepsIdle: Bool = true) -> SocketLeases {
    let id = state.withLock { state in
      let id = state.sockets.join(keepsIdle: keepsIdle)
      state.holders[id] = holder
      return id
    }
    return SocketLeases(self, id)
  }

  /// Decides under the lock, acts after it.
  func perform<Result>(_ event: (inout SocketLedger, GateLimits) -> sending Result) -> sending Result {
    let (result, calls) = state.withLock { state in
      let result = event(&state.sockets, state.scheduler.limits)
      return (result, takeCalls(&state))
    }
    for call in calls { call() }
    return result
  }

  typealias Call = @Sendable () -> Void

  /// What holders are to be told, after the lock is free again. Under the lock.
  func takeCalls(_ state: inout GateState) -> [Call] {
    hasShortage.store(state.sockets.hasShortage, ordering: .releasing)
    return state.sockets.takeEffects().compactMap { effect -> Call? in
      switch effect {
      case .reserved(let id, let route):
        guard let holder = state.holders[id] else { return nil }
        return { holder.socketIsReserved(route) }
      case .reviewIdle(let id):
        guard let holder = state.holders[id] else { return nil }
        return { holder.reviewIdleConnections() }
      }
    }
  }

  var isShort: Bool { hasShortage.load(ordering: .acquiring) }

  func mustClose(_ route: SocketRoute, of id: SocketLedger.Holder) -> Bool {
    guard isShort else { return false }
    return state.withLock { $0.sockets.mustClose(route, of: id, $0.scheduler.limits) }
  }

  func leave(_ id: SocketLedger.Holder) {
    // The holder goes when the lock is free again.
    let holder = state.withLock { $0.holders.removeValue(forKey: id) }
    perform { $0.leave(id, $1) }
    withExtendedLifetime(holder) {}
  }
}

/// The sockets of one holder. See ``GateSockets``. All calls are safe from any thread.
public final class SocketLeases: Sendable {
  private let sockets: GateSockets
  private let id: SocketLedger.Holder

  init(_ sockets: GateSockets, _ id: SocketLedger.Holder) {
    self.sockets = sockets
    self.id = id
  }

  /// Leases a socket, which may then be opened. O(1) while none waits.
  ///
  /// - Parameters:
  ///   - route: Where it leads.
  ///   - waits: Whether the holder waits if none is free, behind those that came before: then
  ///     ``SocketHolder/socketIsReserved(_:)`` says when to try again. It waits once for each route, however often it asks.
  /// - Returns: Whether it was leased; never after ``leave()``.
  public func lease(_ route: SocketRoute, waits: Bool = true) -> Bool {
    tryLease(route, waits: waits) == .leased
  }

  /// The same, and which limit is reached where none is free.
  package func tryLease(_ route: SocketRoute, waits: Bool) -> SocketLedger.Answer {
    sockets.perform { $0.lease(route, for: id, waits: waits, $1) }
  }

  /// Gives a leased socket back once it is closed.
  public func giveBack(_ route: SocketRoute) { sockets.perform { $0.giveBack(route, of: id, $1) } }

  /// Waits no longer for a socket, reserved or not. Does nothing for a route that it does not wait for.
  public func stopWaiting(_ route: SocketRoute) { sockets.perform { $0.stopWaiting(route, id, $1) } }

  /// Whether an idle connection is to be closed now, since a limit was lowered or somebody needs its place. Nearly always
  /// the answer is no, without a lock.
  public func mustClose(_ route: SocketRoute) -> Bool { sockets.mustClose(route, of: id) }

  /// Whether ``mustClose(_:)`` may say yes to any connection at all, without a lock.
  package var hasShortage: Bool { sockets.isShort }

  /// Gives all back and waits for nothing any more: every socket is closed. Nothing is leased afterwards.
  public func leave() { sockets.leave(id) }

  /// How many of this holder's sockets are connected to an end-point, or to a proxy.
  public func openCount(to peer: EndPoint) -> Int { sockets.perform { ledger, _ in ledger.count(to: peer, of: id) } }
}
