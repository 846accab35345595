import HeadgateDispatch
import HeadgateThreads

/// Lets as many requests go to an end-point as may run there at once, and keeps the others back: what has passed here
/// is sent at once, unless a rate, a pause or the total is in its way.
final class SendingTurns: Sendable {
  private let dispatcher: URLDispatcher
  private let places = Locked<[EndPoint: Semaphore]>([:])

  init(_ dispatcher: URLDispatcher) { self.dispatcher = dispatcher }

  /// Runs a function when there is a place for it.
  func run<Value>(at endPoint: EndPoint, _ body: () async -> Value) async -> Value {
    let requests = dispatcher.limits.of(endPoint).requests
    let place = places.withLock { places in
      if let place = places[endPoint] { return place }
      let place = Semaphore(name: "headgate-turns", permits: requests)
      places[endPoint] = place
      return place
    }
    // Throws for a cancelled task only, and none here is.
    try? await place.wait()
    defer { place.signal() }
    return await body()
  }
}
