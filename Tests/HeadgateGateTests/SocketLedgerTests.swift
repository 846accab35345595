import HeadgateTesting
import Testing

@testable import HeadgateGate

/// The sockets of a gate, without sockets: model holders that keep idle connections use a ledger.
@Suite struct SocketLedgerTests {
  private let endPoints: [EndPoint]

  init() throws { endPoints = try (0..<6).map { try EndPoint(host: "h\($0)", port: 80) } }

  private func limits(_ connections: Int, total: Int = 100) throws -> GateLimits {
    try GateLimits(endPoint: EndPointLimits(requests: connections), total: total)
  }

  @Test("refused holders wait, first come, first served; freed sockets are reserved for the first")
  func order() throws {
    let limits = try limits(1)
    let route = SocketRoute(to: endPoints[0])
    var ledger = SocketLedger()
    let holders = (0..<4).map { _ in ledger.join(keepsIdle: true) }
    #expect(ledger.lease(route, for: holders[0], waits: true, limits) == .leased)
    for holder in holders[1...2] {
      #expect(
        ledger.lease(route, for: holder, waits: true, limits)
          == .full(.end(SocketRoute.End(endPoint: endPoints[0], isProxy: false))))
    }
    #expect(ledger.takeEffects() == [.reviewIdle(holders[0])])
    #expect(ledger.mustClose(route, of: holders[0], limits))
    ledger.release(route, of: holders[0], limits)
    #expect(ledger.takeEffects() == [.reserved(holders[1], route)])
    // Neither a newcomer nor the next in line gets a reserved socket.
    #expect(ledger.lease(route, for: holders[3], waits: false, limits) != .leased)
    #expect(ledger.lease(route, for: holders[2], waits: true, limits) != .leased)
    ledger.stopWaiting(route, holders[1], limits)
    #expect(ledger.takeEffects() == [.reserved(holders[2], route)])
    #expect(ledger.lease(route, for: holders[2], waits: true, limits) == .leased)
    ledger.leave(holders[2], limits)
    #expect(ledger.open == 0 && !ledger.hasShortage)
    #expect(ledger.lease(route, for: holders[2], waits: true, limits) == .gone)
  }

  @Test("a lowered limit requests idle connections back, and cancels reservations under the old one")
  func lowered() throws {
    let route = SocketRoute(to: endPoints[0])
    var ledger = SocketLedger()
    let (first, second) = (ledger.join(keepsIdle: true), ledger.join(keepsIdle: true))
    var limits = try limits(3)
    for _ in 0..<3 { #expect(ledger.lease(route, for: first, waits: true, limits) == .leased) }
    #expect(ledger.lease(route, for: second, waits: true, limits) != .leased)
    ledger.release(route, of: first, limits)
    #expect(ledger.takeEffects().last == .reserved(second, route))
    limits = try self.limits(1)
    ledger.limitsChanged(limits)
    #expect(ledger.takeEffects() == [.reviewIdle(first)])
    #expect(ledger.lease(route, for: second, waits: true, limits) != .leased)
    #expect(ledger.mustClose(route, of: first, limits))
    ledger.release(route, of: first, limits)
    ledger.release(route, of: first, limits)
    #expect(ledger.takeEffects() == [.reserved(second, route)])
    #expect(!ledger.mustClose(route, of: first, limits))
  }

  @Test("a tunnel counts at its proxy and at the end-point behind it, and once at the total")
  func tunnels() throws {
    let limits = try limits(1, total: 3)
    var ledger = SocketLedger()
    let holder = ledger.join(keepsIdle: true)
    let proxy = endPoints[5]
    let tunnel = SocketRoute(toProxy: proxy, atMost: 2, tunnelTo: endPoints[0])
    #expect(ledger.lease(tunnel, for: holder, waits: false, limits) == .leased)
    #expect(ledger.count(at: proxy, isProxy: true) == 1 && ledger.count(at: endPoints[0]) == 1 && ledger.open == 1)
    #expect(ledger.count(to: proxy, of: holder) == 1 && ledger.count(to: endPoints[0], of: holder) == 0)
    #expect(
      ledger.lease(tunnel, for: holder, waits: false, limits)
        == .full(.end(SocketRoute.End(endPoint: endPoints[0], isProxy: false))))
    let other = SocketRoute(toProxy: proxy, atMost: 2, tunnelTo: endPoints[1])
    #expect(ledger.lease(other, for: holder, waits: false, limits) == .leased)
    #expect(
      ledger.lease(SocketRoute(toProxy: proxy, atMost: 2), for: holder, waits: false, limits)
        == .full(.end(SocketRoute.End(endPoint: proxy, isProxy: true))))
    // As an end-point that is requested directly, the proxy has its own limit.
    #expect(ledger.lease(SocketRoute(to: proxy), for: holder, waits: false, limits) == .leased)
    #expect(ledger.lease(SocketRoute(to: endPoints[2]), for: holder, waits: false, limits) == .full(.total))
  }

  @Test("random events: never above a limit, no waiter beside free room, nothing is left at the end")
  func randomEvents() throws {
    for seed in UInt64(1)...40 {
      var script = try SocketScript(seed: seed, endPoints)
      let broken = script.play(2_000)
      #expect(broken == nil, "seed \(seed): \(broken ?? "")")
      if broken != nil { return }
    }
  }
}

/// Holders with connections in use and idle ones, as in a transport.
private struct SocketScript {
  private struct Model {
    var used: [SocketRoute: Int] = [:]
    var idle: [SocketRoute: Int] = [:]
    // Exchanges that hold a permit and wait for a socket.
    var wanting: [SocketRoute: Int] = [:]

    var sockets: [SocketRoute: Int] { used.merging(idle, uniquingKeysWith: +) }
  }

  private var random: SeededRandom
  private var ledger = SocketLedger()
  private var limits: GateLimits
  private var models: [SocketLedger.Holder: Model] = [:]
  private let endPoints: [EndPoint]
  private let routes: [SocketRoute]
  // The open connections when a limit was lowered. Their number may only fall until it fits.
  private var ceiling: [EndPoint: Int] = [:]
  private var totalCeiling = 0

  init(seed: UInt64, _ endPoints: [EndPoint]) throws {
    random = SeededRandom(seed: seed)
    self.endPoints = endPoints
    limits = try GateLimits(endPoint: EndPointLimits(requests: 2), total: 6)
    routes =
      endPoints.map { SocketRoute(to: $0) }
      + endPoints.prefix(3).map { SocketRoute(toProxy: endPoints[5], atMost: 2, tunnelTo: $0) }
    for _ in 0..<4 { models[ledger.join(keepsIdle: true)] = Model() }
  }

  mutating func play(_ count: Int) -> String? {
    for event in 0..<count {
      step()
      follow()
      if let broken = check() { return "event \(event): \(broken)" }
    }
    for holder in models.keys.sorted() {
      models[holder] = nil
      ledger.leave(holder, limits)
      follow()
    }
    return ledger.open == 0 && !ledger.hasShortage ? nil : "something is left"
  }

  private mutating func step() {
    guard let holder = models.keys.sorted().randomElement(using: &random),
      let route = routes.randomElement(using: &random)
    else { return }
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<8: want(route, holder)
    case 8..<15:
      // An exchange ends: its connection becomes idle, or is passed to the next waiter.
      guard let used = models[holder]?.used.keys.sorted(by: { "\($0)" < "\($1)" }).randomElement(using: &random) else {
        return
      }
      decrement(\.used, used, holder)
      models[holder]?.idle[used, default: 0] += 1
      if models[holder]?.wanting[used] != nil { retry(used, holder) } else { review(holder) }
    case 15..<17:
      // A server closes an idle connection.
      if let idle = models[holder]?.idle.keys.sorted(by: { "\($0)" < "\($1)" }).first { close(idle, holder) }
    case 17:  // A waiter is cancelled.
      guard models[holder]?.wanting[route] != nil else { return }
      decrement(\.wanting, route, holder)
      if models[holder]?.wanting[route] == nil { ledger.stopWaiting(route, holder, limits) }
    case 18:
      models[holder] = nil
      ledger.leave(holder, limits)
      models[ledger.join(keepsIdle: true)] = Model()
    default: changeLimits()
    }
  }

  private mutating func changeLimits() {
    guard let one = try? EndPointLimits(requests: .random(in: 1...4, using: &random)) else { return }
    let endPoint = endPoints.randomElement(using: &random)
    for endPoint in endPoints { ceiling[endPoint] = ledger.count(at: endPoint) }
    totalCeiling = ledger.open
    if Bool.random(using: &random), let endPoint {
      limits.overrides[endPoint] = Bool.random(using: &random) ? one : nil
      ledger.limitsChanged(at: endPoint, limits)
    } else {
      if Bool.random(using: &random) {
        limits.endPoint = one
      } else {
        limits.total = .random(in: 1...10, using: &random)
      }
      ledger.limitsChanged(limits)
    }
  }

  private mutating func want(_ route: SocketRoute, _ holder: SocketLedger.Holder) {
    models[holder]?.wanting[route, default: 0] += 1
    retry(route, holder)
  }

  /// A waiting exchange tries again: over an idle connection, or over a new one, for which the holder's own idle
  /// connections make room.
  private mutating func retry(_ route: SocketRoute, _ holder: SocketLedger.Holder) {
    guard models[holder]?.wanting[route] != nil else { return ledger.stopWaiting(route, holder, limits) }
    if models[holder]?.idle[route] != nil {
      decrement(\.idle, route, holder)
    } else {
      var answer = ledger.lease(route, for: holder, waits: false, limits)
      while case .full(let bound) = answer, let idle = idle(of: holder, at: bound) {
        close(idle, holder)
        answer = ledger.lease(route, for: holder, waits: false, limits)
      }
      if answer != .leased { answer = ledger.lease(route, for: holder, waits: true, limits) }
      guard answer == .leased else { return }
    }
    models[holder]?.used[route, default: 0] += 1
    decrement(\.wanting, route, holder)
    if models[holder]?.wanting[route] == nil { ledger.stopWaiting(route, holder, limits) } else { retry(route, holder) }
  }

  private func idle(of holder: SocketLedger.Holder, at bound: SocketLedger.Bound) -> SocketRoute? {
    models[holder]?.idle.keys.sorted { "\($0)" < "\($1)" }.first { route in
      switch bound {
      case .total: true
      case .end(let end): route.ends.contains(end)
      }
    }
  }

  private mutating func close(_ route: SocketRoute, _ holder: SocketLedger.Holder) {
    decrement(\.idle, route, holder)
    ledger.release(route, of: holder, limits)
  }

  private mutating func review(_ holder: SocketLedger.Holder) {
    for (route, count) in (models[holder]?.idle ?? [:]).sorted(by: { "\($0.key)" < "\($1.key)" }) {
      for _ in 0..<count where ledger.mustClose(route, of: holder, limits) { close(route, holder) }
    }
  }

  private mutating func decrement(
    _ path: WritableKeyPath<Model, [SocketRoute: Int]>, _ route: SocketRoute, _ holder: SocketLedger.Holder
  ) {
    let count = models[holder]?[keyPath: path][route] ?? 0
    models[holder]?[keyPath: path][route] = count > 1 ? count - 1 : nil
  }

  /// Follows the ledger's instructions until there are none.
  private mutating func follow() {
    while true {
      let effects = ledger.takeEffects()
      if effects.isEmpty { return }
      for effect in effects {
        switch effect {
        case .reserved(let holder, let route): retry(route, holder)
        case .reviewIdle(let holder): review(holder)
        }
      }
    }
  }

  private mutating func check() -> String? {
    let open = models.values.reduce(0) { $0 + $1.sockets.values.reduce(0, +) }
    if ledger.open != open { return "the ledger counts \(ledger.open) sockets, and \(open) are open" }
    totalCeiling = max(min(totalCeiling, open), limits.total)
    if open > totalCeiling { return "\(open) sockets above the total" }
    for endPoint in endPoints {
      let here = ledger.count(at: endPoint)
      let most = limits.of(endPoint).connections
      ceiling[endPoint] = max(min(ceiling[endPoint] ?? 0, here), most)
      if here > ceiling[endPoint] ?? 0 { return "\(here) sockets at \(endPoint), and \(most) are allowed" }
    }
    if ledger.count(at: endPoints[5], isProxy: true) > 2 { return "too many at the proxy" }
    for (holder, model) in models {
      for route in model.wanting.keys {
        // No waiter is left beside free room, or beside an idle connection that blocks it.
        if ledger.bound(of: route, limits) == nil { return "one waits beside room for \(route)" }
        if model.idle[route] != nil { return "one waits beside its own idle connection" }
        for (other, otherModel) in models where other != holder {
          if otherModel.idle.keys.contains(where: { ledger.mustClose($0, of: other, limits) }) {
            return "an idle connection is kept that somebody needs"
          }
        }
      }
    }
    return nil
  }
}
