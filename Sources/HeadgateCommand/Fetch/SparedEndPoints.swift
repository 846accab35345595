import HeadgateDispatch
import HeadgateThreads

/// Lets requests to this machine itself follow one another at once: the usual distance of starts is for others' servers.
final class SparedEndPoints: Sendable {
  private let dispatcher: URLDispatcher
  private let met = Locked(Set<EndPoint>())

  init(of dispatcher: URLDispatcher) { self.dispatcher = dispatcher }

  /// Lifts the distance, if the end-point is this machine's.
  func spare(_ endPoint: EndPoint) {
    guard endPoint.isLoopback, met.withLock({ $0.insert(endPoint).inserted }) else { return }
    let limits = dispatcher.limits.of(endPoint)
    guard limits.rates.isEmpty, let unspaced = try? limits.with(minimumInterval: .zero, jitter: 0) else { return }
    dispatcher.setLimits(unspaced, for: endPoint)
  }
}
