import HeadgateDispatch
import HeadgateThreads

/// The end-points that metrics distinguish: the first `most` ones. All others share one name, so that a crawler does
/// not create an unlimited number of time series in the metrics backend.
final class EndPointNames: Sendable {
  /// An end-point in the attributes of metrics.
  enum Name: Hashable, Sendable {
    case own(EndPoint)
    case other

    var attributes: [(String, String)] {
      switch self {
      case .own(let endPoint): [("server.address", endPoint.host), ("server.port", "\(endPoint.port)")]
      case .other: [("server.address", "_OTHER")]
      }
    }
  }

  private let most: Int
  private let known = Locked<Set<EndPoint>>([])

  init(most: Int) { self.most = max(0, most) }

  func name(of endPoint: EndPoint) -> Name {
    let isKnown = known.withLock { known in
      if known.contains(endPoint) { return true }
      guard known.count < most else { return false }
      known.insert(endPoint)
      return true
    }
    return isKnown ? .own(endPoint) : .other
  }
}
