// Which sockets are open, and which holder may open the next: the pure half of a gate's sockets. Events go in as
// mutating calls with the current limits, of which the ledger keeps no copy. Effects come out of `takeEffects()`.
//
// A socket is leased before it is opened, and returned when it is closed. Holders keep track of their idle connections:
// the ledger does not know which sockets are idle. A holder calls `mustClose` for each idle connection when it is asked
// to review them, and for a connection that becomes idle. Nothing is lost between a review and a connection that
// becomes idle at the same time, because the holder handles both in the order in which they arrive.
//
// A refused holder waits, in order of arrival. A socket that becomes free is reserved for the first holder that can use
// it, so that no newcomer takes it, until that holder leases it or stops waiting.

/// The sockets of one gate, as a value.
package struct SocketLedger: Sendable {
  /// The identity of a holder.
  package typealias Holder = Int

  /// What the driver must do next, with no lock held.
  package enum Effect: Hashable, Sendable {
    /// A socket is reserved for the holder: it must lease it or stop waiting.
    case reserved(Holder, SocketRoute)
    /// Idle connections of the holder may have to be closed: `mustClose` tells which.
    case reviewIdle(Holder)
  }

  /// A limit that has been reached.
  package enum Bound: Hashable, Sendable {
    /// The total limit.
    case total
    /// The limit of an end-point or a proxy.
    case endPoint(EndPoint, isProxy: Bool)
  }

  /// The result of a request for a socket.
  package enum Answer: Hashable, Sendable {
    /// Open the socket, and return it when it is closed.
    case leased
    /// This limit has been reached.
    case full(Bound)
    /// The holder has left.
    case gone
  }

  private struct Place {
    var open = 0
    var reserved = 0
    var holders: [Holder: Int] = [:]
    var used: Int { open + reserved }
  }

  private struct Waiter {
    let holder: Holder
    let route: SocketRoute
    var isReserved = false
    // The limit for which holders were last asked to review their idle connections.
    var asked: Bound?
  }

  private var places: [SocketRoute.End: Place] = [:]
  private var waiters: [Waiter] = []
  private var leases: [Holder: [SocketRoute: Int]] = [:]
  // Ends with more sockets than a lowered limit allows.
  private var crowded: Set<SocketRoute.End> = []
  private var reserved = 0
  private var isOverTotal = false
  private var effects: [Effect] = []
  private var lastHolder = 0

  /// The number of open sockets, at all end-points.
  package private(set) var open = 0

  /// The holders that keep idle connections open.
  package private(set) var keepers: Set<Holder> = []

  package init() {}

  /// Whether any idle connection may have to be closed. While it is false, holders need not check each connection.
  package var hasShortage: Bool { isOverTotal || !crowded.isEmpty || waiters.count > reserved }

  package mutating func takeEffects() -> [Effect] {
    guard !effects.isEmpty else { return [] }
    defer { effects = [] }
    return effects
  }

  // MARK: Events

  /// Registers a holder.
  ///
  /// - Parameter keepsIdle: Whether it keeps idle connections open.
  package mutating func join(keepsIdle: Bool) -> Holder {
    lastHolder += 1
    if keepsIdle { keepers.insert(lastHolder) }
    leases[lastHolder] = [:]
    return lastHolder
  }

  /// A holder wants to open a socket.
  ///
  /// - Parameter waits: Whether it waits if it is refused, behind earlier holders.
  package mutating func lease(
    _ route: SocketRoute, for holder: Holder, waits: Bool, _ limits: GateLimits
  ) -> Answer {
    guard leases[holder] != nil else { return .gone }
    if let index = waiters.firstIndex(where: { $0.holder == holder && $0.route == route }) {
      guard waiters[index].isReserved else { return .full(bound(of: route, limits) ?? .total) }
      remove(at: index)
    } else if let bound = bound(of: route, limits) {
      if waits {
        waiters.append(Waiter(holder: holder, route: route))
        serve(limits)
      }
      return .full(bound)
    }
    open += 1
    leases[holder]?[route, default: 0] += 1
    for end in route.ends {
      places[end, default: Place()].open += 1
      places[end]?.holders[holder, default: 0] += 1
    }
    serve(limits)
    return .leased
  }

  /// A socket was closed.
  package mutating func release(_ route: SocketRoute, of holder: Holder, _ limits: GateLimits) {
    guard let count = leases[holder]?[route] else { return }
    close(route, count: 1, of: holder, limits)
    leases[holder]?[route] = count > 1 ? count - 1 : nil
    serve(limits)
  }

  /// A holder no longer needs a socket for this route. Has no effect if it does not wait.
  package mutating func stopWaiting(_ route: SocketRoute, _ holder: Holder, _ limits: GateLimits) {
    guard let index = waiters.firstIndex(where: { $0.holder == holder && $0.route == route }) else { return }
    remove(at: index)
    serve(limits)
  }

  /// All of a holder's sockets are closed, and it opens no more.
  package mutating func leave(_ holder: Holder, _ limits: GateLimits) {
    guard let routes = leases.removeValue(forKey: holder) else { return }
    keepers.remove(holder)
    for (route, count) in routes { close(route, count: count, of: holder, limits) }
    while let index = waiters.firstIndex(where: { $0.holder == holder }) { remove(at: index) }
    serve(limits)
  }

  /// The limits of one end-point changed, or possibly those of all. O(ends with sockets) for all.
  package mutating func limitsChanged(at endPoint: EndPoint? = nil, _ limits: GateLimits) {
    isOverTotal = open > limits.total
    let changed = endPoint.map { [SocketRoute.End(endPoint: $0, isProxy: false)] } ?? Array(places.keys)
    for end in changed { updateCrowd(at: end, limits) }
    // Reservations under the old limits are made again.
    for index in waiters.indices {
      if waiters[index].isReserved { unreserve(index) }
      waiters[index].asked = nil
    }
    if isOverTotal { review(keepers) }
    for end in changed where crowded.contains(end) { review(places[end].map { Array($0.holders.keys) } ?? []) }
    serve(limits)
  }

  /// Whether a holder must close an idle connection: its end-point has more than the limit allows, or the connection
  /// blocks another holder that waits. O(waiting holders).
  package func mustClose(_ route: SocketRoute, of holder: Holder, _ limits: GateLimits) -> Bool {
    guard hasShortage else { return false }
    if isOverTotal || route.ends.contains(where: crowded.contains) { return true }
    return waiters.contains { waiter in
      // A holder that waits for a route on which it has an idle connection uses that connection.
      guard !waiter.isReserved, waiter.holder != holder || waiter.route != route else { return false }
      return switch bound(of: waiter.route, limits) {
      case .total: true
      case .endPoint(let endPoint, let isProxy): route.counts(at: endPoint, isProxy: isProxy)
      case nil: false
      }
    }
  }

  // MARK: Queries

  /// The number of sockets of one holder that are connected to an end-point.
  package func count(to peer: EndPoint, of holder: Holder) -> Int {
    leases[holder]?.reduce(0) { $1.key.peer == peer ? $0 + $1.value : $0 } ?? 0
  }

  /// The number of sockets that count at an end-point, including those through tunnels.
  package func count(at endPoint: EndPoint, isProxy: Bool = false) -> Int {
    places[SocketRoute.End(endPoint: endPoint, isProxy: isProxy)]?.open ?? 0
  }

  // MARK: Internals

  /// The first limit that keeps a socket from being opened. Nil if there is room.
  func bound(of route: SocketRoute, _ limits: GateLimits) -> Bound? {
    for end in route.ends where isFull(end, for: route, limits) {
      return .endPoint(end.endPoint, isProxy: end.isProxy)
    }
    return open + reserved < limits.total ? nil : .total
  }

  private func isFull(_ end: SocketRoute.End, for route: SocketRoute, _ limits: GateLimits) -> Bool {
    (places[end]?.used ?? 0) >= route.limit(at: end, limits)
  }

  /// Reserves free sockets for waiting holders, in order of arrival. If one must continue to wait, the holders of the
  /// sockets that block it are asked to review their idle connections, once for each limit. O(waiting holders).
  private mutating func serve(_ limits: GateLimits) {
    for index in waiters.indices where !waiters[index].isReserved {
      let (holder, route) = (waiters[index].holder, waiters[index].route)
      guard let bound = bound(of: route, limits) else {
        reserve(index)
        effects.append(.reserved(holder, route))
        continue
      }
      guard waiters[index].asked != bound else { continue }
      waiters[index].asked = bound
      switch bound {
      case .total: review(keepers)
      case .endPoint(let endPoint, let isProxy):
        let end = SocketRoute.End(endPoint: endPoint, isProxy: isProxy)
        review(places[end].map { Array($0.holders.keys) } ?? [])
      }
    }
  }

  private mutating func review(_ holders: some Sequence<Holder>) {
    for holder in keepers.intersection(holders).sorted() where !effects.contains(.reviewIdle(holder)) {
      effects.append(.reviewIdle(holder))
    }
  }

  private mutating func reserve(_ index: Int) {
    waiters[index].isReserved = true
    reserved += 1
    for end in waiters[index].route.ends { places[end, default: Place()].reserved += 1 }
  }

  private mutating func unreserve(_ index: Int) {
    waiters[index].isReserved = false
    reserved -= 1
    for end in waiters[index].route.ends {
      places[end]?.reserved -= 1
      forgetIfUnused(end)
    }
  }

  private mutating func remove(at index: Int) {
    if waiters[index].isReserved { unreserve(index) }
    waiters.remove(at: index)
  }

  private mutating func close(_ route: SocketRoute, count: Int, of holder: Holder, _ limits: GateLimits) {
    open -= count
    isOverTotal = open > limits.total
    for end in route.ends {
      places[end]?.open -= count
      let left = (places[end]?.holders[holder] ?? 0) - count
      places[end]?.holders[holder] = left > 0 ? left : nil
      if crowded.contains(end) { updateCrowd(at: end, limits) }
      forgetIfUnused(end)
    }
  }

  private mutating func updateCrowd(at end: SocketRoute.End, _ limits: GateLimits) {
    // A proxy's limit is passed in with each request for a socket, and a transport observes its own.
    if !end.isProxy, (places[end]?.open ?? 0) > limits.of(end.endPoint).connections {
      crowded.insert(end)
    } else {
      crowded.remove(end)
    }
  }

  private mutating func forgetIfUnused(_ end: SocketRoute.End) {
    if places[end]?.used == 0 { places[end] = nil }
  }
}
