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
    case end(SocketRoute.End)
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
    // Open and reserved sockets.
    var used = 0
    // The number of open ones of each holder.
    var holders: [Holder: Int] = [:]
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
  // Open and reserved sockets, at all end-points.
  private var used = 0
  private var isOverTotal = false
  private var effects: [Effect] = []
  private var lastHolder = 0

  /// The number of open sockets, at all end-points.
  package var open: Int { used - waiters.count(where: \.isReserved) }

  /// The holders that keep idle connections open.
  package private(set) var keepers: Set<Holder> = []

  package init() {}

  /// Whether any idle connection may have to be closed. While it is false, holders need not check each connection.
  package var hasShortage: Bool { isOverTotal || !crowded.isEmpty || waiters.contains { !$0.isReserved } }

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
      waiters.remove(at: index)
    } else if let bound = bound(of: route, limits) {
      if waits {
        waiters.append(Waiter(holder: holder, route: route))
        serve(limits)
      }
      return .full(bound)
    } else {
      use(route, 1)
    }
    leases[holder]?[route, default: 0] += 1
    for end in route.ends { places[end]?.holders[holder, default: 0] += 1 }
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
    // Reservations under the old limits are made again.
    for index in waiters.indices {
      unreserve(index)
      waiters[index].asked = nil
    }
    isOverTotal = used > limits.total
    if isOverTotal { review(.total) }
    let changed = endPoint.map { [SocketRoute.End(endPoint: $0, isProxy: false)] } ?? Array(places.keys)
    for end in changed {
      updateCrowd(at: end, limits)
      if crowded.contains(end) { review(.end(end)) }
    }
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
      case .end(let end): route.ends.contains(end)
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
    let end = SocketRoute.End(endPoint: endPoint, isProxy: isProxy)
    return (places[end]?.used ?? 0) - waiters.count { $0.isReserved && $0.route.ends.contains(end) }
  }

  // MARK: Internals

  /// The first limit that keeps a socket from being opened. Nil if there is room.
  func bound(of route: SocketRoute, _ limits: GateLimits) -> Bound? {
    for end in route.ends where (places[end]?.used ?? 0) >= route.limit(at: end, limits) { return .end(end) }
    return used < limits.total ? nil : .total
  }

  /// Reserves free sockets for waiting holders, in order of arrival. If one must continue to wait, the holders of the
  /// sockets that block it are asked to review their idle connections, once for each limit. O(waiting holders).
  private mutating func serve(_ limits: GateLimits) {
    for index in waiters.indices where !waiters[index].isReserved {
      let route = waiters[index].route
      guard let bound = bound(of: route, limits) else {
        waiters[index].isReserved = true
        use(route, 1)
        effects.append(.reserved(waiters[index].holder, route))
        continue
      }
      guard waiters[index].asked != bound else { continue }
      waiters[index].asked = bound
      review(bound)
    }
  }

  /// Asks the holders with sockets under a limit to review their idle connections.
  private mutating func review(_ bound: Bound) {
    for holder in keepers.sorted() where !effects.contains(.reviewIdle(holder)) {
      if case .end(let end) = bound, places[end]?.holders[holder] == nil { continue }
      effects.append(.reviewIdle(holder))
    }
  }

  /// Counts sockets that are opened or reserved; with a negative number, those that no longer are.
  private mutating func use(_ route: SocketRoute, _ count: Int) {
    used += count
    for end in route.ends {
      places[end, default: Place()].used += count
      if places[end]?.used == 0 { places[end] = nil }
    }
  }

  private mutating func unreserve(_ index: Int) {
    if waiters[index].isReserved { use(waiters[index].route, -1) }
    waiters[index].isReserved = false
  }

  private mutating func remove(at index: Int) {
    unreserve(index)
    waiters.remove(at: index)
  }

  private mutating func close(_ route: SocketRoute, count: Int, of holder: Holder, _ limits: GateLimits) {
    for end in route.ends {
      let left = (places[end]?.holders[holder] ?? 0) - count
      places[end]?.holders[holder] = left > 0 ? left : nil
    }
    use(route, -count)
    isOverTotal = used > limits.total
    for end in route.ends where crowded.contains(end) { updateCrowd(at: end, limits) }
  }

  private mutating func updateCrowd(at end: SocketRoute.End, _ limits: GateLimits) {
    // A proxy's limit is passed in with each request for a socket, and a transport observes its own.
    if !end.isProxy, (places[end]?.used ?? 0) > limits.of(end.endPoint).connections {
      crowded.insert(end)
    } else {
      crowded.remove(end)
    }
  }
}
