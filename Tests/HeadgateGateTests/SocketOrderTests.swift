import HeadgateTesting
import Testing

@testable import HeadgateGate

/// The order in which a ledger reserves sockets, and what that costs.
@Suite struct SocketOrderTests {
  private let endPoints: [EndPoint]

  init() throws { endPoints = try (0..<6).map { try EndPoint(host: "h\($0)", port: 80) } }

  private func limits(_ connections: Int, total: Int) throws -> GateLimits {
    try GateLimits(endPoint: EndPointLimits(requests: connections), total: total)
  }

  @Test("random events: the ledger answers, reserves and asks like one that looks at all that wait", arguments: 1...20)
  func random(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var (ledger, model) = (SocketLedger(), SocketLedgerModel())
    var limits = try limits(2, total: 6)
    let routes =
      endPoints.map { SocketRoute(to: $0) }
      + endPoints.prefix(4).flatMap { endPoint in
        [2, 3].map { SocketRoute(toProxy: endPoints[5], atMost: $0, tunnelTo: endPoint) }
      }
    var holders: [Int] = []
    var open: [(holder: Int, route: SocketRoute)] = []
    // What the model has reserved, and the ledger must have too.
    var reserved: [SocketLedgerModel.Waiter] = []
    func join() {
      holders.append(ledger.join(keepsIdle: Int.random(in: 0..<3, using: &random) > 0))
      model.join(holders[holders.count - 1])
    }
    for _ in 0..<5 { join() }
    for event in 0..<1_000 {
      let route = routes[Int.random(in: 0..<routes.count, using: &random)]
      let holder = holders[Int.random(in: 0..<holders.count, using: &random)]
      switch Int.random(in: 0..<40, using: &random) {
      case 0..<18:
        let waits = Int.random(in: 0..<5, using: &random) > 0
        let answer = ledger.lease(route, for: holder, waits: waits, limits)
        try #require(answer == model.lease(route, for: holder, waits: waits, limits), "seed \(seed), event \(event)")
        if answer == .leased { open.append((holder, route)) }
      case 18..<30:
        guard !open.isEmpty else { continue }
        let socket = open.remove(at: Int.random(in: 0..<open.count, using: &random))
        ledger.release(socket.route, of: socket.holder, limits)
        model.release(socket.route, of: socket.holder, limits)
      case 30..<35:
        ledger.stopWaiting(route, holder, limits)
        model.stopWaiting(route, holder, limits)
      case 35..<37:
        holders.removeAll { $0 == holder }
        open.removeAll { $0.holder == holder }
        ledger.leave(holder, limits)
        model.leave(holder, limits)
        join()
      default:
        let endPoint = endPoints[Int.random(in: 0..<6, using: &random)]
        limits.total = .random(in: 1...9, using: &random)
        limits.overrides[endPoint] = try EndPointLimits(requests: .random(in: 1...3, using: &random))
        ledger.limitsChanged(limits)
        model.limitsChanged(limits)
        reserved = []
      }
      let now = model.waiters.filter(\.isReserved)
      let announced = ledger.takeEffects().compactMap { effect -> SocketLedgerModel.Waiter? in
        if case .reserved(let holder, let route) = effect {
          return .init(holder: holder, route: route, isReserved: true)
        }
        return nil
      }
      #expect(announced == now.filter { !reserved.contains($0) }, "seed \(seed), event \(event)")
      reserved = now
      #expect(ledger.open == open.count, "seed \(seed), event \(event)")
      for route in routes {
        #expect(ledger.bound(of: route, limits) == model.bound(of: route, limits), "seed \(seed), event \(event)")
        let isInTheWay = model.isCrowded(route, limits) || model.isInTheWay(route, of: holder, limits)
        #expect(ledger.mustClose(route, of: holder, limits) == isInTheWay, "seed \(seed), event \(event)")
      }
      for endPoint in endPoints {
        let end = SocketRoute.End(endPoint: endPoint, isProxy: false)
        #expect(
          ledger.count(at: endPoint) == open.count { $0.route.ends.contains(end) }, "seed \(seed), event \(event)")
      }
    }
  }

  @Test("a lease and a release look at no line of another end-point, however many holders wait there")
  func cost() throws {
    func looks(_ count: Int) throws -> (pair: Int, leave: Int) {
      let limits = try limits(1, total: 10_000)
      var ledger = SocketLedger()
      let here = SocketRoute(to: endPoints[0])
      let holder = ledger.join(keepsIdle: false)
      for number in 0..<count {
        let elsewhere = SocketRoute(to: try EndPoint(host: "e\(number % 50)", port: 80))
        _ = ledger.lease(elsewhere, for: ledger.join(keepsIdle: false), waits: true, limits)
      }
      let last = ledger.join(keepsIdle: false)
      #expect(ledger.lease(here, for: holder, waits: true, limits) == .leased)
      #expect(ledger.lease(here, for: last, waits: true, limits) != .leased)
      _ = ledger.takeEffects()
      let before = ledger.looks
      ledger.release(here, of: holder, limits)
      #expect(ledger.takeEffects() == [.reserved(last, here)])
      #expect(ledger.lease(here, for: last, waits: true, limits) == .leased)
      #expect(ledger.lease(here, for: holder, waits: true, limits) != .leased)
      let between = ledger.looks
      ledger.leave(holder, limits)
      return (between - before, ledger.looks - between)
    }
    let (few, many) = (try looks(1_000), try looks(4_000))
    #expect(few == many)
    #expect(few.pair <= 4 && few.leave <= 2)
  }

  @Test("a socket at the total goes to the first that can use it, and is found among the first few lines")
  func total() throws {
    func looks(_ count: Int) throws -> Int {
      let limits = try limits(1, total: 10)
      var ledger = SocketLedger()
      let owner = ledger.join(keepsIdle: false)
      let routes = try (0..<count).map { SocketRoute(to: try EndPoint(host: "t\($0)", port: 80)) }
      for route in routes { _ = ledger.lease(route, for: owner, waits: false, limits) }
      let waiters = routes.map { ($0, ledger.join(keepsIdle: false)) }
      for (route, holder) in waiters { _ = ledger.lease(route, for: holder, waits: true, limits) }
      let before = ledger.looks
      _ = ledger.takeEffects()
      // The first ten wait for their ends, the others for the total.
      ledger.release(routes[3], of: owner, limits)
      #expect(ledger.takeEffects() == [.reserved(waiters[3].1, routes[3])])
      ledger.stopWaiting(routes[3], waiters[3].1, limits)
      #expect(ledger.takeEffects() == [.reserved(waiters[10].1, routes[10])])
      return ledger.looks - before
    }
    let (few, many) = (try looks(1_000), try looks(4_000))
    #expect(few == many && few <= 4)
  }
}
