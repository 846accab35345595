// Which sockets are open, and who may open the next: the pure half of a gate's sockets. Events go in as mutating calls with
// the limits in force, which the ledger keeps no copy of; effects come out of `takeEffects()`.
//
// A socket is leased before it is opened and given back when it is closed. Holders keep idle connections to themselves:
// the ledger does not know which sockets are idle. A holder that is asked to look, or one of whose connections becomes
// idle, asks `mustClose` for each. Between an asking and a connection that becomes idle at the same time nothing is lost:
// the holder looks at its connections in the order in which it hears of them.
//
// Who is refused waits, first come, first served. A socket that becomes free is reserved for the first who can use it, so
// that no newcomer takes it, until that holder leases it or waits no longer.

/// The sockets of one gate, as a value.
package struct SocketLedger: Sendable {
  /// A holder's name here.
  package typealias Holder = Int

  /// What the driver has to do next, with no lock held.
  package enum Effect: Hashable, Sendable {
    /// A socket is reserved for the holder: lease it, or wait no longer.
    case reserved(Holder, SocketRoute)
    /// Idle connections of the holder may have to be closed: `mustClose` says which.
    case reviewIdle(Holder)
  }

  /// A limit that is reached.
  package enum Bound: Hashable, Sendable {
    /// Over all end-points.
    case total
    /// Of one end-point, or of one proxy.
    case endPoint(EndPoint, isProxy: Bool)
  }

  /// What became of a request for a socket.
  package enum Answer: Hashable, Sendable {
    /// Open it, and give it back when it is closed.
    case leased
    /// This limit is reached.
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
    // The bound because of which holders were asked last to look at their idle connections.
    var asked: Bound?
  }

  private var places: [SocketRoute.End: Place] = [:]
  private var waiters: [Waiter] = []
  private var leases: [Holder: [SocketRoute: Int]] = [:]
  // Ends with more sockets than they tolerate, since a limit was lowered.
  private var crowded: Set<SocketRoute.End> = []
  private var reserved = 0
  private var isOverTotal = false
  private var effects: [Effect] = []
  private var lastHolder = 0

  /// Sockets that are open, over all end-points.
  package private(set) var open = 0

  /// Those that keep connections open which they don't use.
  package private(set) var keepers: Set<Holder> = []

  package init() {}

  /// Whether an idle connection may have to be closed at all. While it is false no holder need ask for each.
  package var hasShortage: Bool { isOverTotal || !crowded.isEmpty || waiters.count > reserved }

  package mutating func takeEffects() -> [Effect] {
    guard !effects.isEmpty else { return [] }
    defer { effects = [] }
    return effects
  }

  // MARK: Events

  /// A holder comes.
  ///
  /// - Parameter keepsIdle: Whether it keeps connections open that it does not use.
  package mutating func join(keepsIdle: Bool) -> Holder {
    lastHolder += 1
    if keepsIdle { keepers.insert(lastHolder) }
    leases[lastHolder] = [:]
    return lastHolder
  }

  /// A holder wants to open a socket.
  ///
  /// - Parameter waits: Whether it waits for one if it is refused, behind those that came before.
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

  /// A socket is closed.
  package mutating func giveBack(_ route: SocketRoute, of holder: Holder, _ limits: GateLimits) {
    guard let count = leases[holder]?[route] else { return }
    close(route, count: 1, of: holder, limits)
    leases[holder]?[route] = count > 1 ? count - 1 : nil
    serve(limits)
  }

  /// A holder needs no socket by this route any more. Does nothing for one that does not wait.
  package mutating func stopWaiting(_ route: SocketRoute, _ holder: Holder, _ limits: GateLimits) {
    guard let index = waiters.firstIndex(where: { $0.holder == holder && $0.route == route }) else { return }
    remove(at: index)
    serve(limits)
  }

  /// All of a holder's sockets are closed, and it opens none any more.
  package mutating func leave(_ holder: Holder, _ limits: GateLimits) {
    guard let routes = leases.removeValue(forKey: holder) else { return }
    keepers.remove(holder)
    for (route, count) in routes { close(route, count: count, of: holder, limits) }
    while let index = waiters.firstIndex(where: { $0.holder == holder }) { remove(at: index) }
    serve(limits)
  }

  /// The limits changed, those of one end-point only or perhaps all. O(ends with sockets) for all.
  package mutating func limitsChanged(at endPoint: EndPoint? = nil, _ limits: GateLimits) {
    isOverTotal = open > limits.total
    let changed = endPoint.map { [SocketRoute.End(endPoint: $0, isProxy: false)] } ?? Array(places.keys)
    for end in changed { updateCrowd(at: end, limits) }
    // What was reserved under the old limits is reserved anew.
    for index in waiters.indices {
      if waiters[index].isReserved { unreserve(index) }
      waiters[index].asked = nil
    }
    if isOverTotal { review(keepers) }
    for end in changed where crowded.contains(end) { review(places[end].map { Array($0.holders.keys) } ?? []) }
    serve(limits)
  }

  /// Whether a holder is to close an idle connection: its end-point has more than it tolerates by now, or somebody waits
  /// whom its socket keeps from going on. O(those that wait).
  package func mustClose(_ route: SocketRoute, of holder: Holder, _ limits: GateLimits) -> Bool {
    guard hasShortage else { return false }
    if isOverTotal || route.ends.contains(where: crowded.contains) { return true }
    return waiters.contains { waiter in
      // A holder that waits itself for where it has an idle connection uses that one.
      guard !waiter.isReserved, waiter.holder != holder || waiter.route != route else { return false }
      return switch bound(of: waiter.route, limits) {
      case .total: true
      case .endPoint(let endPoint, let isProxy): route.counts(at: endPoint, isProxy: isProxy)
      case nil: false
      }
    }
  }

  // MARK: Questions

  /// Sockets of one holder that are connected to an end-point.
  package func count(to peer: EndPoint, of holder: Holder) -> Int {
    leases[holder]?.reduce(0) { $1.key.peer == peer ? $0 + $1.value : $0 } ?? 0
  }

  /// Sockets that count at an end-point, those through tunnels included.
  package func count(at endPoint: EndPoint, isProxy: Bool = false) -> Int {
    places[SocketRoute.End(endPoint: endPoint, isProxy: isProxy)]?.open ?? 0
  }

  // MARK: Inside

  /// The first bound that keeps a socket from being opened; nil when there is room.
  func bound(of route: SocketRoute, _ limits: GateLimits) -> Bound? {
    for end in route.ends where isFull(end, for: route, limits) {
      return .endPoint(end.endPoint, isProxy: end.isProxy)
    }
    return open + reserved < limits.total ? nil : .total
  }

  private func isFull(_ end: SocketRoute.End, for route: SocketRoute, _ limits: GateLimits) -> Bool {
    (places[end]?.used ?? 0) >= route.limit(at: end, limits)
  }

  /// Reserves what is free for those that wait, the first first. Where one goes on waiting, those that hold what is in its
  /// way are asked to look at their idle connections, once for each bound. O(those that wait).
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
    // Which limit a proxy has is said by those who ask for a socket: a transport keeps to its own.
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
