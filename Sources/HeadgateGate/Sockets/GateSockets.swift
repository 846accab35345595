import HeadgateThreads
import Synchronization

/// The sockets under a gate's limits: how many are open at each end-point, and which transport may open the next.
///
/// A gate limits requests by permits, and sockets by leases. At an end-point no more sockets are open, including idle
/// and closing ones, than its ``EndPointLimits/connections``, and in total no more than ``GateLimits/total``. All
/// transports of all dispatchers that share the gate lease their sockets here. So does each bare permit, which counts
/// as one socket of its end-point.
///
/// A transport receives this object from its dispatcher, through `Transport.use(_:)`, before its first exchange. It
/// joins once, or once for each of its parts that has its own connections. From then on:
///
/// - Before it opens a socket it calls ``SocketLeases/lease(_:waits:)``. If that returns false, the exchange waits: the
///   transport calls `ExchangeEvents.socketWaitStarted()` and tries again when ``SocketHolder/socketIsReserved(_:)`` is
///   called.
/// - When a socket is closed, or could not be opened, it calls ``SocketLeases/release(_:)``.
/// - When a connection becomes idle, and when ``SocketHolder/checkIdleConnections()`` is called, it calls
///   ``SocketLeases/mustClose(_:)`` and closes the connection if the result is true.
/// - When it ends, it calls ``SocketLeases/leave()``.
///
/// A transport that can't count its sockets does not declare `TransportCapabilities.socketLimits`. It can at least
/// adjust its pool to ``limits``, which it should read each time it needs them, because a copy could be outdated.
public final class GateSockets: Sendable {
  private let state: LockedGateState
  // Whether an idle connection may have to be closed. Written under the lock, and read without it when a connection
  // becomes idle. If a shortage begins a moment later, all holders are asked to review their connections.
  fileprivate let hasShortage = Atomic(false)

  init(_ state: LockedGateState) { self.state = state }

  /// The limits in force.
  public var limits: GateLimits { state.withLock { $0.scheduler.limits } }

  /// The current limit on sockets at an end-point. O(labels of its host).
  public func limit(of endPoint: EndPoint) -> Int {
    state.withLock { $0.scheduler.limits.of(endPoint).connections }
  }

  /// The number of open sockets, at all end-points.
  public var openCount: Int { state.withLock { $0.sockets.open } }

  /// The number of open sockets to an end-point, including those through tunnels.
  public func openCount(at endPoint: EndPoint) -> Int { state.withLock { $0.sockets.count(at: endPoint) } }

  /// Registers a holder of sockets.
  ///
  /// - Parameters:
  ///   - holder: Notified of sockets that become free. Retained until it leaves.
  ///   - keepsIdle: Whether it keeps idle connections open.
  /// - Returns: The leases of the holder's sockets.
  public func join(_ holder: any SocketHolder, keepsIdle: Bool = true) -> SocketLeases {
    let id = state.withLock { state in
      let id = state.sockets.join(keepsIdle: keepsIdle)
      state.holders[id] = holder
      return id
    }
    return SocketLeases(self, id)
  }

  /// Decides under the lock and acts after it.
  func perform<Result>(_ event: (inout SocketLedger, GateLimits) -> sending Result) -> sending Result {
    let (result, calls) = state.withLock { state in
      let result = event(&state.sockets, state.scheduler.limits)
      return (result, takeCalls(&state))
    }
    for call in calls { call() }
    return result
  }

  typealias Call = @Sendable () -> Void

  /// The calls to holders, to be made after the lock is released. Called under the lock.
  func takeCalls(_ state: inout GuardedState) -> [Call] {
    hasShortage.store(state.sockets.hasShortage, ordering: .releasing)
    return state.sockets.takeEffects().compactMap { effect -> Call? in
      switch effect {
      case .reserved(let id, let route):
        guard let holder = state.holders[id] else { return nil }
        return { holder.socketIsReserved(route) }
      case .reviewIdle(let id):
        guard let holder = state.holders[id] else { return nil }
        return { holder.checkIdleConnections() }
      }
    }
  }

  func leave(_ id: SocketLedger.Holder) {
    // The holder is released after the lock.
    let holder = state.withLock { $0.holders.removeValue(forKey: id) }
    perform { $0.leave(id, $1) }
    withExtendedLifetime(holder) {}
  }
}

/// The sockets of one holder. See ``GateSockets``. All methods are thread-safe.
public final class SocketLeases: Sendable {
  private let sockets: GateSockets
  private let id: SocketLedger.Holder

  init(_ sockets: GateSockets, _ id: SocketLedger.Holder) {
    self.sockets = sockets
    self.id = id
  }

  /// Leases a socket, which may then be opened. O(1) while no holder waits, and otherwise O(log n) for n that wait.
  ///
  /// - Parameters:
  ///   - route: The route of the socket.
  ///   - waits: Whether the holder waits if no socket is free, behind earlier holders. In that case
  ///     ``SocketHolder/socketIsReserved(_:)`` tells when to try again. It waits once for each route, however often it
  ///     calls.
  /// - Returns: Whether a socket was leased; always false after ``leave()``.
  public func lease(_ route: SocketRoute, waits: Bool = true) -> Bool {
    tryLease(route, waits: waits) == .leased
  }

  /// Like `lease`, but also returns the limit that is reached if no socket is free.
  package func tryLease(_ route: SocketRoute, waits: Bool) -> SocketLedger.Answer {
    sockets.perform { $0.lease(route, for: id, waits: waits, $1) }
  }

  /// Returns a leased socket after it was closed.
  public func release(_ route: SocketRoute) { sockets.perform { $0.release(route, of: id, $1) } }

  /// Stops waiting for a socket, reserved or not. Has no effect for a route that the holder does not wait for.
  public func stopWaiting(_ route: SocketRoute) { sockets.perform { $0.stopWaiting(route, id, $1) } }

  /// Whether an idle connection must be closed now, because a limit was lowered or another request needs its place.
  /// Nearly always returns false, without a lock.
  public func mustClose(_ route: SocketRoute) -> Bool {
    hasShortage && sockets.perform { $0.mustClose(route, of: id, $1) }
  }

  /// Whether ``mustClose(_:)`` may return true for any connection. Takes no lock.
  package var hasShortage: Bool { sockets.hasShortage.load(ordering: .acquiring) }

  /// Returns all sockets and stops all waits. Every socket must have been closed. Nothing can be leased afterwards.
  public func leave() { sockets.leave(id) }

  /// The number of this holder's sockets that are connected to an end-point or proxy.
  public func openCount(to peer: EndPoint) -> Int { sockets.perform { ledger, _ in ledger.count(to: peer, of: id) } }
}
