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
//
// All that wait for the same route form a line, since the same limit keeps them waiting. The lines whose ends have room
// are ordered by their first arrivals, and wait for the total; the others wait for an end. So an event looks only at the
// lines of the ends that it concerns, and at the lines that it serves, and costs O(log n) for each.

import HeadgateThreads

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
    var reserved = 0
    // The number of open ones of each holder.
    var holders: [Holder: Int] = [:]
    // The routes with this end for which holders wait, and the number of those holders that this end keeps waiting.
    var routes: Set<SocketRoute> = []
    var blocked = 0

    var isEmpty: Bool { used == 0 && routes.isEmpty }

    /// Counts sockets, of a holder if they are not reserved. Returns the routes to look at.
    mutating func use(_ count: Int, by holder: Holder?) -> Set<SocketRoute> {
      used += count
      if let holder { self.count(count, of: holder) }
      return routes
    }

    mutating func count(_ count: Int, of holder: Holder) {
      let open = holders[holder, default: 0] + count
      holders[holder] = open > 0 ? open : nil
    }
  }

  // The holders that wait for a route. One limit keeps all of them waiting.
  private struct Line {
    // In the order of arrival, as numbers.
    var arrivals = OrderedNumbers()
    // The first end that has no room. If all have room, the total has none.
    var block: SocketRoute.End?
    // The limit for which holders were last asked to review their idle connections.
    var asked: Bound?
  }

  private struct Waiter {
    let holder: Holder
    let route: SocketRoute
  }

  private struct Holding {
    // Open sockets.
    var sockets: [SocketRoute: Int] = [:]
    // When it came for the routes that it waits for, or that a socket is reserved for.
    var arrivals: [SocketRoute: Int] = [:]
  }

  private var places: [SocketRoute.End: Place] = [:]
  private var holdings: [Holder: Holding] = [:]
  // By arrival: those without a reserved socket, and those with one.
  private var waiting: [Int: Waiter] = [:]
  private var reserved: [Int: Waiter] = [:]
  private var lastArrival = 0
  private var lines: [SocketRoute: Line] = [:]
  // The first arrivals of the lines whose ends all have room, and the number of holders in these lines.
  private var ready = OrderedNumbers()
  private var readyCount = 0
  // The lines to look at again when free sockets are reserved.
  private var unasked: [SocketRoute] = []
  // Ends with more sockets than a lowered limit allows.
  private var crowded: Set<SocketRoute.End> = []
  // Open and reserved sockets, at all end-points.
  private var used = 0
  private var isOverTotal = false
  // Those that are asked to review their idle connections already.
  private var reviewing: Set<Holder> = []
  private var effects: [Effect] = []
  private var lastHolder = 0

  /// The number of open sockets, at all end-points.
  package var open: Int { used - reserved.count }

  /// The holders that keep idle connections open.
  package private(set) var keepers: Set<Holder> = []

  /// How often a line was looked at, to count what an event costs.
  private(set) var looks = 0

  package init() {}

  /// Whether any idle connection may have to be closed. While it is false, holders need not check each connection.
  package var hasShortage: Bool { isOverTotal || !crowded.isEmpty || !waiting.isEmpty }

  package mutating func takeEffects() -> [Effect] {
    guard !effects.isEmpty else { return [] }
    reviewing = []
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
    holdings[lastHolder] = Holding()
    return lastHolder
  }

  /// A holder wants to open a socket.
  ///
  /// - Parameter waits: Whether it waits if it is refused, behind earlier holders.
  package mutating func lease(
    _ route: SocketRoute, for holder: Holder, waits: Bool, _ limits: GateLimits
  ) -> Answer {
    guard let holding = holdings[holder] else { return .gone }
    if let arrival = holding.arrivals[route] {
      guard let waiter = reserved.removeValue(forKey: arrival) else { return .full(bound(of: route, limits) ?? .total) }
      holdings[holder]?.arrivals[route] = nil
      countReserved(waiter, -1)
      for end in route.ends { places[end]?.count(1, of: holder) }
    } else if let bound = bound(of: route, limits) {
      if waits {
        arrive(Waiter(holder: holder, route: route), limits)
        serve(limits)
      }
      return .full(bound)
    } else {
      use(route, 1, by: holder, limits)
    }
    holdings[holder]?.sockets[route, default: 0] += 1
    serve(limits)
    return .leased
  }

  /// A socket was closed.
  package mutating func release(_ route: SocketRoute, of holder: Holder, _ limits: GateLimits) {
    guard let count = holdings[holder]?.sockets[route] else { return }
    holdings[holder]?.sockets[route] = count > 1 ? count - 1 : nil
    close(route, count: 1, of: holder, limits)
    serve(limits)
  }

  /// A holder no longer needs a socket for this route. Has no effect if it does not wait.
  package mutating func stopWaiting(_ route: SocketRoute, _ holder: Holder, _ limits: GateLimits) {
    // Usually it does not wait. A lookup costs less than a removal.
    guard let arrival = holdings[holder]?.arrivals[route] else { return }
    holdings[holder]?.arrivals[route] = nil
    withdraw(arrival, limits)
    serve(limits)
  }

  /// All of a holder's sockets are closed, and it opens no more.
  package mutating func leave(_ holder: Holder, _ limits: GateLimits) {
    guard let holding = holdings.removeValue(forKey: holder) else { return }
    keepers.remove(holder)
    for (route, count) in holding.sockets { close(route, count: count, of: holder, limits) }
    for arrival in holding.arrivals.values { withdraw(arrival, limits) }
    serve(limits)
  }

  /// The limits of one end-point changed, or possibly those of all. O(routes that holders wait for), and for all also
  /// O(ends with sockets).
  package mutating func limitsChanged(at endPoint: EndPoint? = nil, _ limits: GateLimits) {
    // Reservations under the old limits are made again.
    for (arrival, waiter) in reserved {
      unreserve(waiter, limits)
      wait(waiter, since: arrival)
    }
    reserved = [:]
    for route in Array(lines.keys) {
      look(at: route, limits)
      lines[route]?.asked = nil
      unasked.append(route)
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
  /// blocks another holder that waits.
  package func mustClose(_ route: SocketRoute, of holder: Holder, _ limits: GateLimits) -> Bool {
    guard hasShortage else { return false }
    if isOverTotal || route.ends.contains(where: crowded.contains) { return true }
    let blocked = route.ends.reduce(readyCount) { $0 + (places[$1]?.blocked ?? 0) }
    // A holder that waits for a route on which it has an idle connection uses that connection. It is one of those that
    // this route's ends or the total keep waiting.
    let isWaiting = holdings[holder]?.arrivals[route].map { waiting[$0] != nil } ?? false
    return blocked > (isWaiting ? 1 : 0)
  }

  // MARK: Queries

  /// The number of sockets of one holder that are connected to an end-point.
  package func count(to peer: EndPoint, of holder: Holder) -> Int {
    holdings[holder]?.sockets.reduce(0) { $1.key.peer == peer ? $0 + $1.value : $0 } ?? 0
  }

  /// The number of sockets that count at an end-point, including those through tunnels.
  package func count(at endPoint: EndPoint, isProxy: Bool = false) -> Int {
    places[SocketRoute.End(endPoint: endPoint, isProxy: isProxy)].map { $0.used - $0.reserved } ?? 0
  }

  // MARK: Internals

  /// The first limit that keeps a socket from being opened. Nil if there is room.
  func bound(of route: SocketRoute, _ limits: GateLimits) -> Bound? {
    if let end = block(of: route, limits) { return .end(end) }
    return used < limits.total ? nil : .total
  }

  private func block(of route: SocketRoute, _ limits: GateLimits) -> SocketRoute.End? {
    route.ends.first { (places[$0]?.used ?? 0) >= route.limit(at: $0, limits) }
  }

  /// Reserves free sockets for waiting holders, in order of arrival. If one must continue to wait, the holders of the
  /// sockets that block it are asked to review their idle connections, once for each limit.
  private mutating func serve(_ limits: GateLimits) {
    while used < limits.total, let arrival = ready.least, let waiter = waiting.removeValue(forKey: arrival) {
      change(waiter.route) { $0.arrivals.remove(arrival) }
      reserved[arrival] = waiter
      use(waiter.route, 1, limits)
      countReserved(waiter, 1)
      effects.append(.reserved(waiter.holder, waiter.route))
    }
    guard !unasked.isEmpty else { return }
    for route in unasked {
      guard let line = lines[route] else { continue }
      let bound = line.block.map { Bound.end($0) } ?? .total
      guard line.asked != bound else { continue }
      lines[route]?.asked = bound
      review(bound)
    }
    unasked = []
  }

  /// Asks the holders with sockets under a limit to review their idle connections. O(holders that keep some).
  private mutating func review(_ bound: Bound) {
    for holder in keepers.sorted() where !reviewing.contains(holder) {
      if case .end(let end) = bound, places[end]?.holders[holder] == nil { continue }
      reviewing.insert(holder)
      effects.append(.reviewIdle(holder))
    }
  }

  /// Counts sockets that a holder opens, or that are reserved if there is no holder; with a negative number, those that
  /// no longer are. Only the lines for routes with the same ends are looked at: usually one, and at a proxy one for each
  /// end-point behind it.
  private mutating func use(_ route: SocketRoute, _ count: Int, by holder: Holder? = nil, _ limits: GateLimits) {
    used += count
    // All ends are counted before any line is looked at.
    var routes: [SocketRoute] = []
    for end in route.ends { routes += places[end, default: Place()].use(count, by: holder) }
    for route in routes { look(at: route, limits) }
    if count < 0 { for end in route.ends { forgetIfEmpty(end) } }
  }

  private mutating func forgetIfEmpty(_ end: SocketRoute.End) { if places[end]?.isEmpty == true { places[end] = nil } }

  private mutating func close(_ route: SocketRoute, count: Int, of holder: Holder, _ limits: GateLimits) {
    use(route, -count, by: holder, limits)
    isOverTotal = used > limits.total
    for end in route.ends where crowded.contains(end) { updateCrowd(at: end, limits) }
  }

  // MARK: Lines

  private mutating func arrive(_ waiter: Waiter, _ limits: GateLimits) {
    lastArrival += 1
    holdings[waiter.holder]?.arrivals[waiter.route] = lastArrival
    wait(waiter, since: lastArrival)
    look(at: waiter.route, limits)
    // Also if the limit is the same: an earlier holder may have an idle connection that it keeps for itself.
    lines[waiter.route]?.asked = nil
    unasked.append(waiter.route)
  }

  private mutating func wait(_ waiter: Waiter, since arrival: Int) {
    waiting[arrival] = waiter
    change(waiter.route) { $0.arrivals.insert(arrival) }
  }

  /// One that waits, or a socket is reserved for, leaves.
  private mutating func withdraw(_ arrival: Int, _ limits: GateLimits) {
    if let waiter = reserved.removeValue(forKey: arrival) {
      unreserve(waiter, limits)
    } else if let waiter = waiting.removeValue(forKey: arrival) {
      change(waiter.route) { $0.arrivals.remove(arrival) }
    }
  }

  private mutating func unreserve(_ waiter: Waiter, _ limits: GateLimits) {
    countReserved(waiter, -1)
    use(waiter.route, -1, limits)
  }

  private mutating func countReserved(_ waiter: Waiter, _ count: Int) {
    for end in waiter.route.ends { places[end]?.reserved += count }
  }

  /// Finds out which end keeps a line waiting now.
  private mutating func look(at route: SocketRoute, _ limits: GateLimits) {
    looks += 1
    let block = block(of: route, limits)
    guard let line = lines[route], line.block != block else { return }
    change(route) { $0.block = block }
    unasked.append(route)
  }

  /// Changes a line, and files it again under what keeps it waiting. An empty line is forgotten.
  private mutating func change(_ route: SocketRoute, _ event: (inout Line) -> Void) {
    var line = lines.removeValue(forKey: route) ?? Line()
    file(line, -1)
    event(&line)
    for end in route.ends {
      if line.arrivals.isEmpty {
        places[end]?.routes.remove(route)
        forgetIfEmpty(end)
      } else {
        places[end, default: Place()].routes.insert(route)
      }
    }
    guard !line.arrivals.isEmpty else { return }
    file(line, 1)
    lines[route] = line
  }

  private mutating func file(_ line: Line, _ sign: Int) {
    guard let first = line.arrivals.least else { return }
    if let block = line.block {
      places[block]?.blocked += sign * line.arrivals.count
    } else {
      if sign > 0 { ready.insert(first) } else { ready.remove(first) }
      readyCount += sign * line.arrivals.count
    }
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
