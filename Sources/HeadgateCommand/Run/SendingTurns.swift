import HeadgateDispatch
import HeadgateThreads

/// Admits as many requests for an end-point as may run there at a time, and in its groups, and holds the others back. An
/// admitted request is sent at once, unless a rate, a pause or the total limit delays it.
final class SendingTurns: Sendable {
  private let dispatcher: URLDispatcher
  /// Of each group with a limit on requests.
  private let groups: [RequestScope: Semaphore]
  private let places = Locked<[EndPoint: Semaphore]>([:])

  /// - Parameter groups: The limits of the groups.
  init(_ dispatcher: URLDispatcher, _ groups: [RequestScope: ScopeLimits] = [:]) {
    self.dispatcher = dispatcher
    self.groups = groups.compactMapValues { $0.requests.map(Self.turns) }
  }

  private static func turns(_ count: Int) -> Semaphore { Semaphore(name: "headgate-turns", permits: count) }

  /// Runs a function when there is a place for a request.
  func run<Value>(_ request: DispatchRequest, _ body: () async -> Value) async -> Value {
    // All take their places in one order: the end-point's, then those of the groups. So nobody waits in a circle.
    let places = [place(at: request.endPoint)] + request.scopes.compactMap { groups[$0] }
    // Throws only if the task is cancelled, which never happens here.
    for place in places { try? await place.wait() }
    defer { for place in places { place.signal() } }
    return await body()
  }

  private func place(at endPoint: EndPoint) -> Semaphore {
    let requests = dispatcher.limits.of(endPoint).requests
    return places.withLock { places in
      if let place = places[endPoint] { return place }
      let place = Self.turns(requests)
      places[endPoint] = place
      return place
    }
  }
}
