import HeadgateDispatch
import HeadgateThreads

/// Admits as many requests for an end-point as may run there at a time, and in its groups, and holds the others back. An
/// admitted request is sent at once, unless a rate, a pause or the total limit delays it.
final class SendingTurns: Sendable {
  private let dispatcher: URLDispatcher
  private let groups: HostGroups
  /// Of each group with a limit on requests.
  private let shared: [String: Semaphore]
  private let places = Locked<[EndPoint: [Semaphore]]>([:])

  init(_ dispatcher: URLDispatcher, _ groups: HostGroups = HostGroups()) {
    (self.dispatcher, self.groups) = (dispatcher, groups)
    shared = Dictionary(
      groups.all.compactMap { group in
        group.limits.requests.map { (group.name, Semaphore(name: "headgate-turns", permits: $0)) }
      }
    ) { $1 }
  }

  /// Runs a function when there is a place for it.
  func run<Value>(at endPoint: EndPoint, _ body: () async -> Value) async -> Value {
    // All take their places in one order: the end-point's, then those of the groups. So nobody waits in a circle.
    let places = places(at: endPoint)
    // Throws only if the task is cancelled, which never happens here.
    for place in places { try? await place.wait() }
    defer { for place in places { place.signal() } }
    return await body()
  }

  private func places(at endPoint: EndPoint) -> [Semaphore] {
    let requests = dispatcher.limits.of(endPoint).requests
    return places.withLock { places in
      if let known = places[endPoint] { return known }
      let own = Semaphore(name: "headgate-turns", permits: requests)
      let all = [own] + groups.groups(of: endPoint).compactMap { shared[$0.name] }
      places[endPoint] = all
      return all
    }
  }
}
