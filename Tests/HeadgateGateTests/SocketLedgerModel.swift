@testable import HeadgateGate

/// The rule of a ``SocketLedger`` without its order: every event looks at all that wait.
struct SocketLedgerModel {
  struct Waiter: Equatable {
    let holder: SocketLedger.Holder
    let route: SocketRoute
    var isReserved = false
  }

  private(set) var waiters: [Waiter] = []
  private var used: [SocketRoute.End: Int] = [:]
  private var total = 0
  private var sockets: [SocketLedger.Holder: [SocketRoute]] = [:]

  func bound(of route: SocketRoute, _ limits: GateLimits) -> SocketLedger.Bound? {
    for end in route.ends where used[end, default: 0] >= route.limit(at: end, limits) { return .end(end) }
    return total < limits.total ? nil : .total
  }

  mutating func join(_ holder: SocketLedger.Holder) { sockets[holder] = [] }

  mutating func lease(
    _ route: SocketRoute, for holder: SocketLedger.Holder, waits: Bool, _ limits: GateLimits
  ) -> SocketLedger.Answer {
    guard sockets[holder] != nil else { return .gone }
    if let index = waiters.firstIndex(where: { $0.holder == holder && $0.route == route }) {
      guard waiters[index].isReserved else { return .full(bound(of: route, limits) ?? .total) }
      waiters.remove(at: index)
    } else if let bound = bound(of: route, limits) {
      if waits { waiters.append(Waiter(holder: holder, route: route)) }
      return .full(bound)
    } else {
      use(route, 1)
    }
    sockets[holder]?.append(route)
    return .leased
  }

  mutating func release(_ route: SocketRoute, of holder: SocketLedger.Holder, _ limits: GateLimits) {
    guard let index = sockets[holder]?.firstIndex(of: route) else { return }
    sockets[holder]?.remove(at: index)
    use(route, -1)
    serve(limits)
  }

  mutating func stopWaiting(_ route: SocketRoute, _ holder: SocketLedger.Holder, _ limits: GateLimits) {
    remove { $0.holder == holder && $0.route == route }
    serve(limits)
  }

  mutating func leave(_ holder: SocketLedger.Holder, _ limits: GateLimits) {
    for route in sockets.removeValue(forKey: holder) ?? [] { use(route, -1) }
    remove { $0.holder == holder }
    serve(limits)
  }

  mutating func limitsChanged(_ limits: GateLimits) {
    for index in waiters.indices where waiters[index].isReserved {
      waiters[index].isReserved = false
      use(waiters[index].route, -1)
    }
    serve(limits)
  }

  /// Whether there are more sockets than a limit allows.
  func isCrowded(_ route: SocketRoute, _ limits: GateLimits) -> Bool {
    total > limits.total
      || route.ends.contains { !$0.isProxy && used[$0, default: 0] > limits.of($0.endPoint).connections }
  }

  /// Whether an idle connection keeps another holder waiting.
  func isInTheWay(_ route: SocketRoute, of holder: SocketLedger.Holder, _ limits: GateLimits) -> Bool {
    waiters.contains { waiter in
      guard !waiter.isReserved, waiter.holder != holder || waiter.route != route else { return false }
      return switch bound(of: waiter.route, limits) {
      case .total: true
      case .end(let end): route.ends.contains(end)
      case nil: false
      }
    }
  }

  private mutating func serve(_ limits: GateLimits) {
    for index in waiters.indices where !waiters[index].isReserved && bound(of: waiters[index].route, limits) == nil {
      waiters[index].isReserved = true
      use(waiters[index].route, 1)
    }
  }

  private mutating func remove(where isMeant: (Waiter) -> Bool) {
    for waiter in waiters where isMeant(waiter) && waiter.isReserved { use(waiter.route, -1) }
    waiters.removeAll(where: isMeant)
  }

  private mutating func use(_ route: SocketRoute, _ count: Int) {
    total += count
    for end in route.ends { used[end, default: 0] += count }
  }
}
