import HeadgateDispatch
import HeadgateThreads

/// Admits as many requests for an end-point as may run there at a time, and holds the others back. An admitted request
/// is sent at once, unless a rate, a pause or the total limit delays it.
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
    // Throws only if the task is cancelled, which never happens here.
    try? await place.wait()
    defer { place.signal() }
    return await body()
  }
}
