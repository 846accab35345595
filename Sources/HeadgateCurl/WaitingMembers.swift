import HeadgateThreads

/// Those that wait in a ``SocketLine``, each once. A change takes O(log n), wherever the member stands.
struct WaitingMembers<Member: Hashable, Route: Hashable> {
  struct Wait {
    let member: Member
    let offers: Bool
    fileprivate let route: Route
  }

  // By place. New members come behind the last place, or before the first.
  private var waits: [Int: Wait] = [:]
  private var places: [Member: Int] = [:]
  private var order = OrderedNumbers()
  private var routes: [Route: OrderedNumbers] = [:]
  private var firstPlace = 0
  private var lastPlace = 0

  var isEmpty: Bool { order.isEmpty }

  var first: Wait? { order.least.flatMap { waits[$0] } }

  func contains(_ route: Route) -> Bool { routes[route] != nil }

  mutating func append(_ member: Member, offers: Bool, on route: Route) {
    lastPlace += 1
    put(Wait(member: member, offers: offers, route: route), at: lastPlace)
  }

  mutating func prepend(_ member: Member, offers: Bool, on route: Route) {
    putFirst(Wait(member: member, offers: offers, route: route))
  }

  /// The first one for a route.
  func first(for route: Route) -> Wait? { routes[route]?.least.flatMap { waits[$0] } }

  /// Moves one of the members to the front.
  mutating func promote(_ wait: Wait) { putFirst(wait) }

  /// Has no effect if the member is not among them.
  mutating func remove(_ member: Member) {
    guard let place = places.removeValue(forKey: member), let wait = waits.removeValue(forKey: place) else { return }
    order.remove(place)
    routes[wait.route]?.remove(place)
    if routes[wait.route]?.isEmpty == true { routes[wait.route] = nil }
  }

  private mutating func putFirst(_ wait: Wait) {
    firstPlace -= 1
    put(wait, at: firstPlace)
  }

  private mutating func put(_ wait: Wait, at place: Int) {
    remove(wait.member)
    waits[place] = wait
    places[wait.member] = place
    order.insert(place)
    routes[wait.route, default: OrderedNumbers()].insert(place)
  }
}
