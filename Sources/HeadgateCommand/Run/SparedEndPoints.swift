import HeadgateDispatch
import HeadgateThreads

/// Lifts the default spacing of starts for servers on this machine. The spacing is meant to protect others' servers.
final class SparedEndPoints: Sendable {
  private let dispatcher: URLDispatcher
  private let met = Locked(Set<EndPoint>())

  init(of dispatcher: URLDispatcher) { self.dispatcher = dispatcher }

  /// Lifts the spacing if the end-point is on this machine.
  func spare(_ endPoint: EndPoint) {
    guard endPoint.isLoopback, met.withLock({ $0.insert(endPoint).inserted }) else { return }
    let limits = dispatcher.limits.of(endPoint)
    guard limits.rates.isEmpty, let unspaced = try? limits.with(minimumInterval: .zero, jitter: 0) else { return }
    dispatcher.setLimits(unspaced, for: endPoint)
  }
}
